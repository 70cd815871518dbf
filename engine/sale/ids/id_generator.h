// Order ids: 64 bits, seconds since 2022-01-01 UTC above, a daily counter below. Unique, ascending
// per generator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "engine/client/client.h"
#include "engine/sale/orders/order_store.h"
#include "engine/sale/sale_keys.h"
#include "engine/sale/vouchers/voucher.h"
#include "engine/time/clock.h"

namespace rushgate {

/// Draws the counter in blocks (INCRBY), so that most ids cost no round trip. A block belongs to
/// the (UTC) day it was drawn for. A keyspace may lose the counter: the first id of a day lies
/// above all of that day that the order store knows, and no block below one that was drawn before.
/// Thread-safe. Does not own what it is given.
class IdGenerator {
 public:
  static constexpr std::int64_t kEpochSeconds = 1'640'995'200;  // 2022-01-01 00:00 UTC
  static constexpr int kCounterBits = 32;

  IdGenerator(Client& client, OrderStore& orders, const Clock& clock, const SaleKeys& keys,
              std::int64_t block_size = 1'024);

  /// The next id; the error of the draw if there had to be one, or, on a day's first draw, of the
  /// look into the order store.
  absl::StatusOr<OrderId> next();
  /// Fills `ids` with the next ones, from the front. Sets `count` to how many: all, if it is ok.
  absl::Status next(std::span<OrderId> ids, std::size_t& count);

  /// When an id was made: ms since 1970 UTC, to the second.
  static std::int64_t made_at_ms(OrderId id);

 private:
  absl::Status begin_day(std::int64_t day);
  absl::Status draw_block(std::int64_t day, std::int64_t above);

  Client& client_;
  OrderStore& orders_;
  const Clock& clock_;
  const SaleKeys keys_;
  const std::int64_t block_size_;

  std::mutex mutex_;
  std::int64_t seconds_ = 0;     // guarded by mutex_: of the last id; never goes back
  std::int64_t block_day_ = -1;  // guarded by mutex_: days since 1970
  std::int64_t block_next_ = 0;  // guarded by mutex_
  std::int64_t block_end_ = 0;   // guarded by mutex_: no later block of this day begins below it
};

}  // namespace rushgate
