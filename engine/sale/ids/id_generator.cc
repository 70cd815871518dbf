#include "engine/sale/ids/id_generator.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "engine/sale/reply_status.h"

namespace rushgate {
namespace {

constexpr std::int64_t kDaySeconds = 24 * 60 * 60;
constexpr std::int64_t kCounterMask = (std::int64_t{1} << IdGenerator::kCounterBits) - 1;

OrderId id_of(std::int64_t seconds_since_1970, std::int64_t counter) {
  return (seconds_since_1970 - IdGenerator::kEpochSeconds) << IdGenerator::kCounterBits | counter;
}

/// yyyyMMdd
std::string day_name(std::int64_t days_since_1970) {
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{days_since_1970}}};
  char text[32];
  std::snprintf(text, sizeof(text), "%04d%02u%02u", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  return text;
}

}  // namespace

IdGenerator::IdGenerator(Client& client, OrderStore& orders, const Clock& clock,
                         const SaleKeys& keys, std::int64_t block_size)
    : client_(client), orders_(orders), clock_(clock), keys_(keys), block_size_(block_size) {}

absl::StatusOr<OrderId> IdGenerator::next() {
  OrderId id = 0;
  std::size_t count = 0;
  const absl::Status drawn = next({&id, 1}, count);
  if (!drawn.ok()) return drawn;
  return id;
}

absl::Status IdGenerator::next(std::span<OrderId> ids, std::size_t& count) {
  count = 0;
  while (true) {
    std::int64_t day = 0;
    std::int64_t above = 0;
    bool is_begun = false;
    {
      const std::lock_guard lock(mutex_);
      seconds_ = std::max(seconds_, clock_.now_ms() / 1'000);
      day = seconds_ / kDaySeconds;
      is_begun = day == block_day_;
      if (is_begun) {
        while (count < ids.size() && block_next_ != block_end_) {
          ids[count++] = id_of(seconds_, block_next_++);
        }
      }
      if (count == ids.size()) return absl::OkStatus();
      above = block_end_ - 1;
    }
    // Not under the lock: the client may suspend a fiber, and another of its thread come for an id.
    const absl::Status drawn = is_begun ? draw_block(day, above) : begin_day(day);
    if (!drawn.ok()) return drawn;
  }
}

/// Whatever became of the keyspace's counter, ids go on above those of this day that are stored.
/// (Of the day, not of all time: a clock that was once far ahead must not be followed for ever.)
absl::Status IdGenerator::begin_day(std::int64_t day) {
  const auto greatest = orders_.greatest_id(id_of((day + 1) * kDaySeconds, 0));
  if (!greatest.ok()) return greatest.status();
  const std::int64_t seconds = made_at_ms(*greatest) / 1'000;
  const bool is_of_day = *greatest > 0 && seconds / kDaySeconds == day;
  if (!is_of_day) return draw_block(day, 0);
  {
    const std::lock_guard lock(mutex_);
    seconds_ = std::max(seconds_, seconds);
  }
  return draw_block(day, *greatest & kCounterMask);
}

/// A block of counters above `above`.
absl::Status IdGenerator::draw_block(std::int64_t day, std::int64_t above) {
  const std::string counter = keys_.id_counter(day_name(day));
  Reply last = client_("INCRBY", counter, block_size_);
  if (last.is_integer() && last.integer() - block_size_ < above) {
    last = client_("INCRBY", counter, above);
  }
  if (!last.is_integer()) return to_status(last, "drawing order ids");
  const std::int64_t end = last.integer() + 1;

  const std::lock_guard lock(mutex_);
  // Somebody else may have drawn meanwhile. Ids ascend, so of two blocks the earlier one is
  // dropped.
  const bool is_late = day < block_day_ || (day == block_day_ && end <= block_end_);
  if (is_late) return absl::OkStatus();
  block_day_ = day;
  block_end_ = end;
  block_next_ = end - block_size_;
  return absl::OkStatus();
}

std::int64_t IdGenerator::made_at_ms(OrderId id) {
  return ((id >> kCounterBits) + kEpochSeconds) * 1'000;
}

}  // namespace rushgate
