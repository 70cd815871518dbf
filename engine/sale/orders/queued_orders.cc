#include "engine/sale/orders/queued_orders.h"

#include <algorithm>
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

/// Since the day on which the epoch began.
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
      blocks_.erase(oldest_first_.front());
      oldest_first_.pop_front();
      has_forgotten_ = true;
    }
  }
  (*last_)[place_of(id)] = second_of(id);
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
  bool has_skipped = false;
  while (true) {
    StreamId after;
    {
      const std::lock_guard lock(mutex_);
      if (known_.contains(order)) return true;
      after = read_to_;
    }
    if (!std::exchange(has_skipped, true)) {
      const auto stored_to = skip_stored();
      if (!stored_to.ok()) return stored_to.status();
      after = *stored_to;
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
  return is_in_stream(order);
}

/// Moves read_to_ on over entries that a worker has acknowledged, and back to the beginning of a
/// stream that was lost and begins from scratch. Returns where to read on.
absl::StatusOr<StreamId> QueuedOrders::skip_stored() {
  const auto progress = read_stream_progress(client_, keys_);
  if (!progress.ok()) return progress.status();
  const std::lock_guard lock(mutex_);
  if (progress->last < read_to_) read_to_ = {};
  return read_to_ = std::max(read_to_, progress->acknowledged_to);
}

absl::StatusOr<bool> QueuedOrders::is_in_stream(OrderId order) {
  bool is_there = false;
  const std::string id = std::to_string(order);
  const absl::Status read = for_each_entry(client_, keys_.order_stream, StreamId::min(),
                                           StreamId::max(), [&](const OrderEntry& entry) {
                                             is_there = entry.field("id") == id;
                                             return !is_there;
                                           });
  if (!read.ok()) return read;
  return is_there;
}

}  // namespace rushgate
