// Versions of vouchers, cached for pages that show them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/backend.h>
#include <rushgate/cache.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// Thread-safe. Does not own its arguments, which must outlive it.
class VoucherCache {
 public:
  /// The longest time for which another process may read an old version. That happens if a process
  /// died after recording a new version and before calling forget().
  static constexpr std::int64_t kTtlMs = 60'000;

  /// Keeps up to `copies_max` versions in the process, and all in the keyspace. Errors: as
  /// Cache::create().
  static absl::StatusOr<std::unique_ptr<VoucherCache>> open(Backend& backend,
                                                            VoucherStore& vouchers,
                                                            const SaleKeys& keys,
                                                            std::size_t copies_max,
                                                            const WaitMethod* wait);

  /// Returns the version in force; nothing if there is none. Reads the database if there is no
  /// copy, or if the cache fails.
  absl::StatusOr<std::optional<VoucherVersion>> find(VoucherId voucher);

  /// Drops the copies of a voucher; to be called when another version has come into force. After an
  /// error, call it once more.
  absl::Status forget(VoucherId voucher);

 private:
  VoucherCache(std::unique_ptr<Cache> cache, VoucherStore& vouchers);

  const std::unique_ptr<Cache> cache_;
  VoucherStore& vouchers_;
};

}  // namespace rushgate
