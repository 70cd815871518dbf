// What a request to buy comes to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/sale/vouchers/voucher.h"

namespace rushgate {

/// What an admission comes to.
enum class Outcome : std::uint8_t {
  kAccepted,  // there is an order; it will be stored
  kSoldOut,
  kLimitReached,     // this user's, over the whole sale
  kDayLimitReached,  // this user's, today
  kNotStarted,
  kEnded,
  kUnknownVoucher,
  kOverloaded,      // nothing was done; trying again may help
  kUnavailable,     // the keyspace is closed or cannot be reached; nothing was done
  kOutcomeUnknown,  // it may have been accepted: ask again with the same request key, or for the
                    // order's status
  kKeyReused,       // this request key was used by another user or for another voucher
  kRefused,         // by a rule of a custom admission script (custom_admission.h)
  kFailed,          // the keyspace refused, detail says why; nothing was done
};

/// "accepted", "sold out", …
std::string_view outcome_name(Outcome outcome);

struct BuyResult {
  Outcome outcome = Outcome::kOverloaded;
  /// If accepted. With kOutcomeUnknown: the order's id if it was accepted. With kLimitReached and
  /// kDayLimitReached: an order that the user has (SaleOptions::names_order_at_limit), or 0.
  OrderId order = 0;
  /// Accepted before, with the same idempotency key: `order` is that order.
  bool is_repeated = false;
  std::string detail = {};  // of kOverloaded, kUnavailable, kOutcomeUnknown and kFailed, and of the
                            // codes of a custom admission script
};

}  // namespace rushgate
