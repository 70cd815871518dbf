// Versions of vouchers, cached for pages that show them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/client/backend.h"
#include "engine/recipes/cache/cache.h"
#include "engine/sale/orders/order_store.h"
#include "engine/sale/sale_keys.h"
#include "engine/sale/vouchers/voucher.h"

namespace rushgate {

/// Thread-safe. Does not own what it is given, which must outlive it.
class VoucherCache {
 public:
  /// Bounds how long another process may see an old version: one that died after it had recorded a
  /// new version, and before it called forget().
  static constexpr std::int64_t kTtlMs = 60'000;

  /// Keeps up to `copies_max` versions in the process, and all in the keyspace. Errors: as
  /// Cache::create().
  static absl::StatusOr<std::unique_ptr<VoucherCache>> open(Backend& backend, OrderStore& orders,
                                                            const SaleKeys& keys,
                                                            std::size_t copies_max,
                                                            const WaitMethod* wait);

  /// Returns the version in force; nothing if there is none. Asks the database if it has no copy, or
  /// if the cache fails.
  absl::StatusOr<std::optional<VoucherVersion>> find(VoucherId voucher);

  /// To be called when the database has another version in force. After an error call it again.
  absl::Status forget(VoucherId voucher);

 private:
  VoucherCache(std::unique_ptr<Cache> cache, OrderStore& orders);

  const std::unique_ptr<Cache> cache_;
  OrderStore& orders_;
};

}  // namespace rushgate
