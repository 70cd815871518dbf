// Limits how many do something at the same time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/client/backend.h"

namespace rushgate {

/// A value type.
struct ConcurrencyLimitOptions {
  std::string key_prefix = "concurrency:";
  std::int64_t maximum = 1;
  /// How long a permit holds that is neither renewed nor released, since its holder may have
  /// crashed. By the server's clock.
  std::int64_t lease_ms = 30'000;
  ClientOptions client = {};
};

/// A set of permits per name. Thread-safe. Does not own the backend, which must outlive it.
class ConcurrencyLimit {
 public:
  static constexpr std::int64_t kMaximumMax = 100'000;
  static constexpr std::int64_t kLeaseMsMax = 366LL * 24 * 60 * 60 * 1'000;

  struct Acquired {
    bool granted = false;
    std::string permit;               // what release() and renew() want; empty if refused
    std::int64_t retry_after_ms = 0;  // when the next permit expires, if none is released before
  };

  /// kInvalidArgument: an option is out of range.
  static absl::StatusOr<std::unique_ptr<ConcurrencyLimit>> create(Backend& backend,
                                                                  ConcurrencyLimitOptions options);

  absl::StatusOr<Acquired> acquire(std::string_view name);
  /// Lets the permit hold for another lease from now on. Returns false if it has expired.
  absl::StatusOr<bool> renew(std::string_view name, std::string_view permit);
  /// Returns false if it had expired: another may have had its place since.
  absl::StatusOr<bool> release(std::string_view name, std::string_view permit);

 private:
  ConcurrencyLimit(Backend& backend, ConcurrencyLimitOptions options);

  const ConcurrencyLimitOptions options_;
  const std::string maximum_;   // in decimal
  const std::string lease_ms_;  // in decimal
  const std::unique_ptr<Client> client_;
};

}  // namespace rushgate
