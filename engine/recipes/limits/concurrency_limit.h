// Limits the number of concurrent users of a resource.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/backend.h>

namespace rushgate {

/// A value type.
struct ConcurrencyLimitOptions {
  std::string key_prefix = "concurrency:";
  std::int64_t maximum = 1;
  /// The life of a permit without renewal, by the server's clock. So a crashed holder blocks others
  /// for no longer.
  std::int64_t lease_ms = 30'000;
  ClientOptions client = {};
};

/// Keeps a set of permits per name. Thread-safe. Does not own the backend, which must outlive it.
class ConcurrencyLimit {
 public:
  static constexpr std::int64_t kMaximumMax = 100'000;
  static constexpr std::int64_t kLeaseMsMax = 366LL * 24 * 60 * 60 * 1'000;

  struct Acquired {
    bool granted = false;
    std::string permit;               // for renew() and release(); empty if refused
    std::int64_t retry_after_ms = 0;  // when the next permit expires, if none is released before
  };

  /// kInvalidArgument: an option is out of range.
  static absl::StatusOr<std::unique_ptr<ConcurrencyLimit>> create(Backend& backend,
                                                                  ConcurrencyLimitOptions options);

  absl::StatusOr<Acquired> acquire(std::string_view name);
  /// Renews the permit for one lease from now. Returns false if it has expired.
  absl::StatusOr<bool> renew(std::string_view name, std::string_view permit);
  /// Releases the permit. Returns false if it had expired: another permit may have its place.
  absl::StatusOr<bool> release(std::string_view name, std::string_view permit);

 private:
  ConcurrencyLimit(Backend& backend, ConcurrencyLimitOptions options);
  absl::StatusOr<bool> change(std::string_view name, std::string_view permit,
                              std::string_view lease_ms, std::string_view doing);

  const ConcurrencyLimitOptions options_;
  const std::string maximum_;   // in decimal
  const std::string lease_ms_;  // in decimal
  const std::unique_ptr<Client> client_;
};

}  // namespace rushgate
