// Opens a sale only to users that passed an earlier step, such as a queue or a captcha.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include <rushgate/backend.h>

namespace rushgate {

/// A value type.
struct PurchaseTokensOptions {
  std::string key_prefix = "purchase-token:";
  std::int64_t ttl_ms = 5 * 60'000;  // from the issue of a token
  ClientOptions client = {};
};

/// Issues and redeems tokens that cannot be guessed (128 random bits), each for one user and one
/// item. A user has at most one token of an item, so there are never more keys than users.
/// Thread-safe. Does not own the backend, which must outlive it.
///
/// A seller redeems the token, and then buys with the token as the idempotency key (Sale::buy()).
/// So a client that lost the reply sends the same token again, and gets the same order. See
/// docs/recipes.md.
class PurchaseTokens {
 public:
  static constexpr std::int64_t kTtlMsMax = 366LL * 24 * 60 * 60 * 1'000;

  enum class Redeemed : std::uint8_t {
    kNow,      // it was valid, and is now used
    kBefore,   // this user redeemed it before
    kInvalid,  // unknown, expired, or of another user or item
  };

  /// kInvalidArgument: ttl_ms is out of range.
  static absl::StatusOr<std::unique_ptr<PurchaseTokens>> create(Backend& backend,
                                                                PurchaseTokensOptions options = {});

  /// Returns the user's token of this item. A token that was issued earlier and has not expired is
  /// returned again, redeemed or not. So a second call gives no second right to buy.
  absl::StatusOr<std::string> issue(std::int64_t user, std::int64_t item);

  absl::StatusOr<Redeemed> redeem(std::int64_t user, std::int64_t item, std::string_view token);

 private:
  PurchaseTokens(Backend& backend, PurchaseTokensOptions options);
  [[nodiscard]] std::string key(std::int64_t user, std::int64_t item) const;

  const PurchaseTokensOptions options_;
  const std::string ttl_ms_;  // in decimal
  const std::unique_ptr<Client> client_;
};

/// Returns "now", "before" or "invalid".
std::string_view redeemed_name(PurchaseTokens::Redeemed redeemed);

}  // namespace rushgate
