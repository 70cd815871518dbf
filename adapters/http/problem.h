// Refusals and failures as JSON (RFC 9457).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "adapters/http/exchange.h"

namespace rushgate::http {

using Json = nlohmann::ordered_json;

/// What a client tells apart. docs/http.md lists them.
struct ProblemType {
  std::string_view name;  // the end of its URI
  int status = 0;
  std::string_view title;
  int retry_after_s = 0;  // 0: no Retry-After
};

inline constexpr std::string_view kProblemUri = "urn:rushgate:problem:";

inline constexpr ProblemType kInvalidRequest{"invalid-request", 400, "The request is invalid"};
inline constexpr ProblemType kUnauthorized{"unauthorized", 401, "A valid token is needed"};
inline constexpr ProblemType kForbidden{"forbidden", 403, "The request is not allowed"};
inline constexpr ProblemType kNotFound{"not-found", 404, "There is nothing here"};
inline constexpr ProblemType kUnknownVoucher{"unknown-voucher", 404, "The voucher is not on sale"};
inline constexpr ProblemType kUnknownOrder{"unknown-order", 404, "There is no such order"};
inline constexpr ProblemType kMethodNotAllowed{"method-not-allowed", 405,
                                               "The method is not allowed here"};
inline constexpr ProblemType kSoldOut{"sold-out", 409, "Sold out"};
inline constexpr ProblemType kLimitReached{"limit-reached", 409, "The user may not buy any more"};
inline constexpr ProblemType kDayLimitReached{"day-limit-reached", 409,
                                              "The user may not buy any more today"};
inline constexpr ProblemType kTokenRefused{"token-refused", 409,
                                           "The purchase token is missing, wrong or spent"};
inline constexpr ProblemType kNotStarted{"not-started", 409, "The sale has not started"};
inline constexpr ProblemType kEnded{"ended", 409, "The sale has ended"};
inline constexpr ProblemType kTooLate{"too-late", 409, "Another change of the order came first"};
inline constexpr ProblemType kRefused{"refused", 409, "A rule of the sale forbids it"};
inline constexpr ProblemType kNoWaitingList{"no-waiting-list", 409,
                                            "The voucher has no waiting list"};
inline constexpr ProblemType kWaitingListFull{"waiting-list-full", 409, "The waiting list is full"};
inline constexpr ProblemType kPiecesFree{"pieces-free", 409,
                                         "Pieces are free: buy instead of waiting"};
inline constexpr ProblemType kVersionChanged{"version-changed", 412,
                                             "Another version of the voucher is in force"};
inline constexpr ProblemType kBodyTooLarge{"body-too-large", 413, "The body is too large"};
inline constexpr ProblemType kUnsupportedType{"unsupported-media-type", 415,
                                              "The body must be application/json"};
inline constexpr ProblemType kKeyReused{
    "key-reused", 422, "The idempotency key was used with another user, voucher or quantity"};
inline constexpr ProblemType kHeaderTooLarge{"header-too-large", 431, "The header is too large"};
inline constexpr ProblemType kFailed{"failed", 500, "The server failed"};
inline constexpr ProblemType kOverloaded{"overloaded", 503, "The server is overloaded", 1};
inline constexpr ProblemType kUnavailable{"unavailable", 503, "The sale is unavailable", 1};
inline constexpr ProblemType kOutcomeUnknown{
    "outcome-unknown", 504, "It is unknown whether this was done: repeat the request", 1};

inline constexpr std::array kProblemTypes = {
    kInvalidRequest,  kUnauthorized,     kForbidden,      kNotFound,       kUnknownVoucher,
    kUnknownOrder,    kMethodNotAllowed, kSoldOut,        kLimitReached,   kDayLimitReached,
    kTokenRefused,    kNotStarted,       kEnded,          kTooLate,        kRefused,
    kNoWaitingList,   kWaitingListFull,  kPiecesFree,     kVersionChanged, kBodyTooLarge,
    kUnsupportedType, kKeyReused,        kHeaderTooLarge, kFailed,         kOverloaded,
    kUnavailable,     kOutcomeUnknown};

/// Returns the reply. `more` has further members.
HttpAnswer problem(const ProblemType& type, std::string_view detail = {},
                   const Json& more = Json::object());
/// Returns the reply for an error of the sale.
HttpAnswer problem_of(const absl::Status& error);

/// Returns a reply with this JSON.
HttpAnswer json_answer(const Json& json, int status = 200);

}  // namespace rushgate::http
