#include "engine/sale/orders/queued_orders.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/client/reply_status.h"
#include "engine/sale/ids/order_ids.h"
#include "engine/sale/orders/group_progress.h"
#include "engine/sale/orders/order_entry.h"

namespace rushgate {
namespace {

constexpr std::int64_t kCountersPerDay = kOrderIdLayout.counter_max() + 1;

/// Returns the seconds since the day on which the epoch began.
std::int64_t seconds_of(OrderId id) { return id >> kOrderIdLayout.counter_bits; }
std::int64_t counter_of(OrderId id) { return kOrderIdLayout.counter_of(id); }

}  // namespace

// ---- OrderIdSet ----

std::int64_t OrderIdSet::block_of(OrderId id) {
  const std::int64_t day = seconds_of(id) / IdLayout::kDaySeconds;
  return day * (kCountersPerDay / kBlockIds) + counter_of(id) / kBlockIds;
}

std::size_t OrderIdSet::place_of(OrderId id) {
  return static_cast<std::size_t>(counter_of(id) % kBlockIds);
}

std::uint32_t OrderIdSet::second_of(OrderId id) {
  return static_cast<std::uint32_t>(seconds_of(id) % IdLayout::kDaySeconds + 1);
}

void OrderIdSet::insert(OrderId id) {
  const std::int64_t number = block_of(id);
  if (last_ == nullptr || number != last_block_) {
    std::unique_ptr<Block>& block = blocks_[number];
    if (!block) {
      block = std::make_unique<Block>();
      oldest_first_.push_back(number);
    }
    last_ = block.get();
    last_block_ = number;
    if (oldest_first_.size() > kBlocksMax) {
      forget(oldest_first_.front());
      oldest_first_.pop_front();
    }
  }
  (*last_)[place_of(id)] = second_of(id);
}

void OrderIdSet::forget(std::int64_t block) {
  blocks_.erase(block);
  ++times_forgotten_;
  if (forgotten_.size() < kForgottenMax) {
    forgotten_.insert(block);
  } else {
    has_forgotten_more_ = true;
  }
}

bool OrderIdSet::may_have_forgotten(OrderId id) const {
  const std::int64_t block = block_of(id);
  return !blocks_.contains(block) && (has_forgotten_more_ || forgotten_.contains(block));
}

void OrderIdSet::give_up_forgotten() {
  forgotten_.clear();
  has_forgotten_more_ = false;
}

bool OrderIdSet::contains(OrderId id) const {
  const auto found = blocks_.find(block_of(id));
  return found != blocks_.end() && (*found->second)[place_of(id)] == second_of(id);
}

// ---- QueuedOrders ----

void QueuedOrders::add(std::span<const OrderId> accepted) {
  const std::lock_guard lock(mutex_);
  for (const OrderId id : accepted) known_.insert(id);
}

void QueuedOrders::clear() {
  const std::lock_guard lock(mutex_);
  known_.clear();
  read_to_ = {};
}

absl::StatusOr<bool> QueuedOrders::contains(OrderId order) {
  constexpr int kPortion = 1'000;
  std::optional<StreamId> stored_to;
  while (true) {
    StreamId after;
    {
      const std::lock_guard lock(mutex_);
      if (known_.contains(order)) return true;
      after = read_to_;
    }
    if (!stored_to) {
      const auto skipped = skip_stored();
      if (!skipped.ok()) return skipped.status();
      stored_to = skipped->stored_to;
      after = skipped->read_to;
    }
    const Reply portion =
        client_("XRANGE", keys_.order_stream, '(' + after.to_string(), "+", "COUNT", kPortion);
    if (portion.kind() != Reply::Kind::kArray) {
      return to_status(portion, "reading " + keys_.order_stream);
    }
    const std::lock_guard lock(mutex_);
    for (const Reply& element : portion.elements()) {
      const auto entry = read_entry(element);
      const auto id = entry ? StreamId::parse(entry->id) : std::nullopt;
      if (!id) return to_status(element, "reading " + keys_.order_stream);
      const auto read = read_order(*entry);
      if (read.ok()) known_.insert(read->id);
      after = *id;
    }
    read_to_ = std::max(read_to_, after);
    if (portion.elements().size() < kPortion) break;
  }
  {
    const std::lock_guard lock(mutex_);
    if (known_.contains(order)) return true;
    if (!known_.may_have_forgotten(order)) return false;
  }
  return is_in_stream(order, *stored_to);
}

/// Moves read_to_ past entries that a worker has acknowledged. Moves it to the start if the stream
/// was lost and begins from scratch. Gives up the forgotten orders once all are stored.
absl::StatusOr<QueuedOrders::Skipped> QueuedOrders::skip_stored() {
  std::uint64_t times_forgotten_before = 0;
  {
    const std::lock_guard lock(mutex_);
    times_forgotten_before = known_.times_forgotten();
  }
  const auto progress = read_stream_progress(client_, keys_);
  if (!progress.ok()) return progress.status();
  const std::lock_guard lock(mutex_);
  const bool is_all_stored = progress->acknowledged_to >= progress->last;
  if (is_all_stored && known_.times_forgotten() == times_forgotten_before) {
    known_.give_up_forgotten();
  }
  if (progress->last < read_to_) read_to_ = {};
  read_to_ = std::max(read_to_, progress->acknowledged_to);
  return Skipped{.stored_to = progress->acknowledged_to, .read_to = read_to_};
}

absl::StatusOr<bool> QueuedOrders::is_in_stream(OrderId order, StreamId after) {
  bool is_there = false;
  const std::string id = std::to_string(order);
  const absl::Status read = for_each_entry(client_, keys_.order_stream, after, StreamId::max(),
                                           [&](const OrderEntry& entry) {
                                             is_there = entry.field("id") == id;
                                             return !is_there;
                                           });
  if (!read.ok()) return read;
  return is_there;
}

}  // namespace rushgate
