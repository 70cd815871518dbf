// Order ids: 64 bits, seconds since 2022-01-01 UTC above, a daily counter below. Unique, ascending
// per generator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/client/client.h"
#include "engine/sale/ids/id_draws.h"
#include "engine/sale/orders/order_store.h"
#include "engine/sale/sale_keys.h"
#include "engine/sale/vouchers/voucher.h"
#include "engine/time/clock.h"

namespace rushgate {

/// Gives ids out of blocks of counters. A block belongs to the (UTC) day that it was drawn for, and
/// the next one is drawn when half of it is used (id_draws.h). A keyspace may lose the counter, and
/// several processes may draw from it: no counter of a day is given twice. Ids of a day lie above
/// all of that day that the order store knew when the day began.
/// Thread-safe. Does not own what it is given.
class IdGenerator {
 public:
  static constexpr std::int64_t kEpochSeconds = 1'640'995'200;  // 2022-01-01 00:00 UTC
  static constexpr int kCounterBits = 32;
  static constexpr std::int64_t kDaySeconds = 24 * 60 * 60;

  IdGenerator(Client& client, OrderStore& orders, const Clock& clock, const SaleKeys& keys,
              std::int64_t block_size = 1'024);
  ~IdGenerator();
  IdGenerator(const IdGenerator&) = delete;
  IdGenerator& operator=(const IdGenerator&) = delete;

  /// Asks the order store for what the first id of this day needs, so that next() need not.
  absl::Status prepare();

  /// Returns the next id. Waits only if none is left of what was drawn ahead. Errors are those of
  /// the draw; kResourceExhausted: the day's counters are used up.
  absl::StatusOr<OrderId> next();
  /// Fills `ids` with the next ones, from the front. Sets `count` to how many: all, if it is ok.
  absl::Status next(std::span<OrderId> ids, std::size_t& count);

  /// Gives no further id of what was drawn so far. After a loss of writes another process may be
  /// given the same counters; ids of later seconds differ all the same.
  void forget_draws();

  static OrderId make(std::int64_t seconds_since_1970, std::int64_t counter) {
    return (seconds_since_1970 - kEpochSeconds) << kCounterBits | counter;
  }
  /// When an id was made: ms since 1970 UTC, to the second.
  static std::int64_t made_at_ms(OrderId id);

 private:
  struct Taken {
    std::size_t count = 0;
    std::int64_t day = 0;
    bool is_low = false;           // the day's next block is to be drawn …
    bool is_day_near_end = false;  // … or the next day's first
  };
  Taken take(std::span<OrderId> ids);
  bool renew(std::int64_t day);

  const Clock& clock_;
  const std::shared_ptr<IdDraws> draws_;

  std::mutex mutex_;
  // Guarded by mutex_:
  std::int64_t seconds_ = 0;  // of the last id; never goes back
  std::int64_t day_ = -1;     // of the block: days since 1970
  IdRange block_;
  std::int64_t low_ = 0;            // how many are left of it when the next one is asked for
  std::int64_t tomorrow_from_ = 0;  // when the next day's first is asked for, in seconds
};

}  // namespace rushgate
