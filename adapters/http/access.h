// Who may do what: tokens of operators and users, and requests of other sites.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/http/exchange.h"
#include <rushgate/user_id.h>

namespace rushgate::http {

/// Whom a route serves.
enum class Access : std::uint8_t {
  kAnyone,
  kBuyer,     // a user for itself, if tokens of users are demanded
  kOperator,  // with the operators' token; without one: clients on the same machine
};

/// Who sent a request.
struct Caller {
  bool is_operator = false;         // and may act for every user
  std::optional<UserId> user = {};  // the only user for whom it may act; empty: any

  [[nodiscard]] bool may_act_for(const UserId& other) const { return !user || *user == other; }
};

/// Checks requests. Thread-safe.
class Guard {
 public:
  Guard(std::string operator_token, std::string user_key, std::vector<std::string> origins)
      : operator_token_(std::move(operator_token)),
        user_key_(std::move(user_key)),
        origins_(std::move(origins)) {}

  /// Sets `caller`, or returns the refusal. `now_ms`: the time of day.
  [[nodiscard]] std::optional<HttpAnswer> admit(Access access, const HttpCall& call,
                                                std::int64_t now_ms, Caller& caller) const;
  /// Returns the refusal of a write that a page of another site makes a browser send.
  [[nodiscard]] std::optional<HttpAnswer> refuse_other_site(const HttpCall& call) const;

 private:
  [[nodiscard]] bool has_operator_token(const HttpCall& call) const;
  [[nodiscard]] std::optional<HttpAnswer> admit_operator(const HttpCall& call,
                                                         Caller& caller) const;
  [[nodiscard]] std::optional<HttpAnswer> admit_buyer(const HttpCall& call, std::int64_t now_ms,
                                                      Caller& caller) const;

  const std::string operator_token_;
  const std::string user_key_;
  const std::vector<std::string> origins_;
};

/// Returns the user of a token by sign_user(); nothing if it is forged, or expired at `now_ms`.
std::optional<UserId> find_signed_user(std::string_view token, std::string_view key,
                                       std::int64_t now_ms);

}  // namespace rushgate::http
