#include "engine/sale/ids/id_generator.h"

#include <algorithm>

namespace rushgate {
namespace {

/// The next day's first block is asked for by the ids of this day's last minute.
constexpr std::int64_t kDayEndSeconds = 60;

}  // namespace

IdGenerator::IdGenerator(Client& client, OrderStore& orders, const Clock& clock,
                         const SaleKeys& keys, std::int64_t block_size)
    : clock_(clock), draws_(std::make_shared<IdDraws>(client, orders, clock, keys, block_size)) {}

IdGenerator::~IdGenerator() { draws_->close(); }

absl::Status IdGenerator::prepare() {
  return draws_->prepare(clock_.now_ms() / 1'000 / kDaySeconds);
}

void IdGenerator::forget_draws() {
  const std::lock_guard lock(mutex_);
  draws_->drop_ranges();
  block_ = {};
}

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
    const Taken taken = take(ids.subspan(count));
    count += taken.count;
    const auto missing = static_cast<std::int64_t>(ids.size() - count);
    if (missing > 0) {
      const absl::Status drawn = draws_->wait(taken.day, missing);
      if (!drawn.ok()) return drawn;
      continue;
    }
    if (taken.is_low) draws_->ask(taken.day, 1);
    if (taken.is_day_near_end) draws_->ask(taken.day + 1, 1);
    return absl::OkStatus();
  }
}

/// As many as there are of what was drawn. What it asks for is to be drawn outside of the lock: the
/// client may suspend a fiber, and another of its thread come for an id.
IdGenerator::Taken IdGenerator::take(std::span<OrderId> ids) {
  const std::lock_guard lock(mutex_);
  Taken taken;
  seconds_ = std::max(seconds_, clock_.now_ms() / 1'000);
  taken.day = seconds_ / kDaySeconds;
  while (taken.count < ids.size()) {
    if (day_ != taken.day || block_.next == block_.end) {
      if (!renew(taken.day)) return taken;
    }
    const std::int64_t count =
        std::min(static_cast<std::int64_t>(ids.size() - taken.count), block_.end - block_.next);
    for (std::int64_t i = 0; i < count; ++i) {
      ids[taken.count++] = make(seconds_, block_.next++);
    }
  }
  const std::int64_t left = block_.end - block_.next;
  if (left <= low_) {  // again later, since the draw may fail
    taken.is_low = true;
    low_ = left / 2;
  }
  if (seconds_ >= tomorrow_from_) {
    taken.is_day_near_end = true;
    tomorrow_from_ = seconds_ + 1;
  }
  return taken;
}

bool IdGenerator::renew(std::int64_t day) {
  const auto range = draws_->take(day);
  if (!range) return false;
  day_ = day;
  block_ = *range;
  low_ = (block_.end - block_.next) / 2;
  tomorrow_from_ = (day + 1) * kDaySeconds - kDayEndSeconds;
  seconds_ = std::max(seconds_, block_.seconds_min);
  return true;
}

std::int64_t IdGenerator::made_at_ms(OrderId id) {
  return ((id >> kCounterBits) + kEpochSeconds) * 1'000;
}

}  // namespace rushgate
