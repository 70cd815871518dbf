#include "engine/sale/ids/id_generator.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "engine/sale/reply_status.h"

namespace rushgate {
namespace {

constexpr std::int64_t kDaySeconds = 24 * 60 * 60;

/// yyyyMMdd
std::string day_name(std::int64_t days_since_1970) {
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{days_since_1970}}};
  char text[32];
  std::snprintf(text, sizeof(text), "%04d%02u%02u", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  return text;
}

}  // namespace

IdGenerator::IdGenerator(Client& client, const Clock& clock, const SaleKeys& keys,
                         std::int64_t block_size)
    : client_(client), clock_(clock), keys_(keys), block_size_(block_size) {}

absl::StatusOr<OrderId> IdGenerator::next() {
  while (true) {
    std::int64_t day = 0;
    {
      const std::lock_guard lock(mutex_);
      seconds_ = std::max(seconds_, clock_.now_ms() / 1'000);
      day = seconds_ / kDaySeconds;
      if (day == block_day_ && block_next_ != block_end_) {
        return (seconds_ - kEpochSeconds) << kCounterBits | block_next_++;
      }
    }
    // Not under the lock: the client may suspend a fiber, and another of its thread come for an id.
    const absl::Status drawn = draw_block(day);
    if (!drawn.ok()) return drawn;
  }
}

absl::Status IdGenerator::draw_block(std::int64_t day) {
  const Reply last = client_("INCRBY", keys_.id_counter(day_name(day)), block_size_);
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
