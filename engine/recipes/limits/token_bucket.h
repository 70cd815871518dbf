// Limits a rate: an average per second, and a burst.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/recipes/limits/permission.h"
#include <rushgate/backend.h>

namespace rushgate {

/// A value type.
struct TokenBucketOptions {
  std::string key_prefix = "token-bucket:";
  std::int64_t capacity = 1;       // tokens of a full bucket: the largest burst
  std::int64_t refill_ms = 1'000;  // the time to fill an empty bucket
  ClientOptions client = {};
};

/// Keeps a bucket per name, which refills steadily. A bucket is one key, which exists only while
/// the bucket is not full. Time is the server's. If that clock goes back, no token is granted for
/// at most refill_ms. Thread-safe. Does not own the backend, which must outlive it.
class TokenBucket {
 public:
  static constexpr std::int64_t kCapacityMax = 1'000'000'000;
  static constexpr std::int64_t kRefillMsMax = 366LL * 24 * 60 * 60 * 1'000;

  /// kInvalidArgument: an option is out of range.
  static absl::StatusOr<std::unique_ptr<TokenBucket>> create(Backend& backend,
                                                             TokenBucketOptions options);

  /// Takes `tokens` of the bucket called `name`, or none. kInvalidArgument: fewer than 1, or more
  /// than its capacity.
  absl::StatusOr<Permission> take(std::string_view name, std::int64_t tokens = 1);

  /// As take(), of one token of each of several buckets, in this order: one round trip, one commit
  /// batch.
  std::vector<absl::StatusOr<Permission>> take_all(std::span<const std::string_view> names);

 private:
  TokenBucket(Backend& backend, TokenBucketOptions options);
  [[nodiscard]] Request request(std::string_view name, std::int64_t tokens) const;

  const TokenBucketOptions options_;
  const std::string capacity_;   // in decimal
  const std::string refill_us_;  // in decimal
  const std::unique_ptr<Client> client_;
};

}  // namespace rushgate
