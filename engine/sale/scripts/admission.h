// The decision on a purchase, made by one atomic script, in Lua and in C++.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/sale/scripts/admission_codes.lua.h"
#include <rushgate/client.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>
#include <rushgate/script.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// The admission script's reply: lua::admission_codes.
enum class AdmissionCode : std::uint8_t {
  kAccepted = lua::admission_codes::kAccepted,
  kSoldOut = lua::admission_codes::kSoldOut,
  kLimitReached = lua::admission_codes::kLimitReached,
  kDayLimitReached = lua::admission_codes::kDayLimitReached,
  kNotStarted = lua::admission_codes::kNotStarted,
  kEnded = lua::admission_codes::kEnded,
  kUnknownVoucher = lua::admission_codes::kUnknownVoucher,
  kKeyReused = lua::admission_codes::kKeyReused,
  kStockMissing = lua::admission_codes::kStockMissing,
  kRebuilding = lua::admission_codes::kRebuilding,
  kServesFirst = lua::admission_codes::kServesFirst,
  kTokenRefused = lua::admission_codes::kTokenRefused,
};

/// Returns "accepted", "sold out", …
std::string_view admission_code_name(AdmissionCode code);

/// Returns the admission script: its Lua source, and the name of its native implementation.
const Script& admission_script();
NativeScript native_admission();
inline constexpr std::string_view kNativeAdmission = "rushgate.admission";

/// Makes the requests that run the script. Builds the part that all requests for a voucher share
/// once. Thread-safe. Does not own the client, which must outlive it.
class AdmissionRequests {
 public:
  /// The acceptance of a request with an idempotency key is kept for `request_ttl_ms`.
  AdmissionRequests(const Client& client, const SaleKeys& keys, std::int64_t request_ttl_ms);
  ~AdmissionRequests();
  AdmissionRequests(const AdmissionRequests&) = delete;
  AdmissionRequests& operator=(const AdmissionRequests&) = delete;

  /// The part of a request that its buyers share.
  struct Purchase {
    VoucherId voucher;
    std::int64_t quantity = 1;
    std::string_view reference = {};  // the caller's; may be empty
    std::string_view token = {};      // the only buyer's purchase token; may be empty; no spaces
  };
  /// Returns true if it is of one piece, without a reference and a token.
  static bool is_plain(const Purchase& purchase) {
    return purchase.quantity == 1 && purchase.reference.empty() && purchase.token.empty();
  }
  /// One buyer of a request.
  struct Buyer {
    const UserId* user = nullptr;  // not null
    OrderId order = 0;             // the id that the order will have
    std::string_view
        idempotency_key;  // may be empty; otherwise names one request of this user for this voucher
  };
  /// The most buyers of one request: more would delay other clients too long.
  static constexpr std::size_t kBuyersMax = 256;

  /// Makes a request for one to kBuyersMax `buyers`, for Client::run_all(). All or none of them
  /// have an idempotency key. A purchase with a token has one buyer. The script decides on them in this order.
  [[nodiscard]] Request make(const Purchase& purchase, std::span<const Buyer> buyers) const;

 private:
  struct Known {
    VoucherId voucher;
    Request beginning;  // of one piece without a reference and idempotency key, up to the user
  };
  static constexpr std::size_t kKnown = 256;

  [[nodiscard]] const Known* find_known(VoucherId voucher) const;
  /// `own` has the keys of the buyers: the token's, and those of the requests.
  [[nodiscard]] Request beginning(const Purchase& purchase, std::span<const std::string> own) const;

  const Client& client_;
  const SaleKeys keys_;
  const std::int64_t request_ttl_ms_;
  const std::size_t request_prefix_bytes_;  // of each idempotency key in the keyspace
  // By voucher, modulo; never replaced. Requests for a voucher whose place is taken are built from
  // scratch.
  mutable std::array<std::atomic<const Known*>, kKnown> known_{};
};

/// Returns the value that the script keeps under the idempotency key of an accepted order:
/// "<user> <voucher>[x<quantity>] 0 <order>".
std::string request_record(const Order& order);
/// Returns the voucher in such a value; empty if it is none.
std::optional<VoucherId> voucher_of_record(std::string_view record);

/// The script's reply for one buyer.
struct AdmissionReply {
  AdmissionCode code;
  OrderId order;  // of an accepted request; of a repetition: the order that was accepted first
  bool is_repetition = false;  // of a request with the same idempotency key

  /// Reads a reply that is a code alone, as most are; nothing if it is not.
  static std::optional<AdmissionCode> code_of(const Reply& reply) {
    if (!reply.is_integer()) return std::nullopt;
    const std::int64_t code = reply.integer();
    if (code < 0 || code > static_cast<std::int64_t>(AdmissionCode::kTokenRefused)) {
      return std::nullopt;
    }
    return static_cast<AdmissionCode>(code);
  }
  /// Reads the reply for one buyer; nothing if it is not the script's. `order` is the id in the
  /// request.
  static std::optional<AdmissionReply> read(const Reply& reply, OrderId order);
};

}  // namespace rushgate
