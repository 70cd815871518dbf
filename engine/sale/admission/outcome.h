// The result of a request to buy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/sale/vouchers/voucher.h"

namespace rushgate {

/// The outcome of an admission.
enum class Outcome : std::uint8_t {
  kAccepted,  // there is an order; it will be stored
  kSoldOut,
  kLimitReached,     // this user's, over the whole sale
  kDayLimitReached,  // this user's, today
  kNotStarted,
  kEnded,
  kUnknownVoucher,
  kOverloaded,      // nothing was done; trying again may help
  kUnavailable,     // the keyspace is closed or unreachable; nothing was done
  kOutcomeUnknown,  // it may have been accepted: repeat it with the same idempotency key, or ask
                    // for the order's status
  kKeyReused,       // the idempotency key was used by another user or for another voucher
  kRefused,         // by a rule of a custom admission script (custom_admission.h)
  kFailed,          // the keyspace refused, and detail gives the reason; nothing was done
};

/// Returns "accepted", "sold out", …
std::string_view outcome_name(Outcome outcome);

struct BuyResult {
  Outcome outcome = Outcome::kOverloaded;
  /// The accepted order. With kOutcomeUnknown: the order's id if it was accepted. With
  /// kLimitReached and kDayLimitReached: an order that the user has
  /// (SaleOptions::names_order_at_limit), or 0.
  OrderId order = 0;
  /// True if `order` was accepted before, with the same idempotency key.
  bool is_repeated = false;
  /// Set for kOverloaded, kUnavailable, kOutcomeUnknown and kFailed, and for the codes of a custom
  /// admission script.
  std::string detail = {};
};

}  // namespace rushgate
