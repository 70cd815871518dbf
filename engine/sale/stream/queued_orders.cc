#include "engine/sale/stream/queued_orders.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/model/order_entry.h"
#include "engine/sale/stores/order_ids.h"
#include "engine/sale/stream/group_progress.h"
#include "engine/sale/stream/stream_entries.h"

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

OrderIdSet::Block& OrderIdSet::block_with(OrderId id) {
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
  return *last_;
}

void OrderIdSet::insert(OrderId id) { block_with(id).seconds[place_of(id)] = second_of(id); }

void OrderIdSet::insert(OrderId id, std::uint32_t page) {
  Block& block = block_with(id);
  block.seconds[place_of(id)] = second_of(id);
  if (!block.pages) block.pages = std::make_unique<Numbers>();
  (*block.pages)[place_of(id)] = page;
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
  return found != blocks_.end() && found->second->seconds[place_of(id)] == second_of(id);
}

std::uint32_t OrderIdSet::page_of(OrderId id) const {
  if (!contains(id)) return 0;
  const Block& block = *blocks_.find(block_of(id))->second;
  return block.pages ? (*block.pages)[place_of(id)] : 0;
}

// ---- QueuedOrders ----

void QueuedOrders::add(std::span<const OrderId> accepted) {
  const std::lock_guard lock(mutex_);
  for (const OrderId id : accepted) known_.insert(id);
}

void QueuedOrders::clear() {
  const std::lock_guard lock(mutex_);
  known_.clear();
  begin_from_scratch();
}

/// Reads the stream from its start once more. No page that was noted before is found any more. The
/// caller has the mutex.
void QueuedOrders::begin_from_scratch() {
  read_to_ = {};
  first_page_ += static_cast<std::uint32_t>(pages_.size());
  pages_.clear();
}

absl::StatusOr<bool> QueuedOrders::contains(OrderId order) {
  const auto is_met = read_on_until([&] { return known_.contains(order); });
  if (!is_met.ok() || *is_met) return is_met;
  ASSIGN_OR_RETURN(const auto found, find_forgotten(order));
  return found.has_value();
}

absl::StatusOr<std::optional<Order>> QueuedOrders::find(OrderId order) {
  std::optional<Range> page;
  const auto has_other_page = [&] {
    const auto found = find_page(order);
    if (!found || (page && found->after == page->after)) return false;
    page = found;
    return true;
  };
  while (true) {
    ASSIGN_OR_RETURN(const auto is_met, read_on_until(has_other_page));
    if (!is_met) return find_forgotten(order);
    auto found = find_queued(order, *page);
    // Where the page lacks it, it may have been restored: then a later page has it.
    if (!found.ok() || found->has_value()) return found;
  }
}

/// Searches the unacknowledged entries for an order that may be one of the forgotten ones.
absl::StatusOr<std::optional<Order>> QueuedOrders::find_forgotten(OrderId order) {
  const auto may_have_forgotten = [&] {
    const std::lock_guard lock(mutex_);
    return known_.may_have_forgotten(order);
  };
  if (!may_have_forgotten()) return std::nullopt;
  ASSIGN_OR_RETURN(const auto stored_to, skip_stored());
  if (!may_have_forgotten()) return std::nullopt;  // all are stored
  return find_queued(order, {stored_to, StreamId::max()});
}

/// Reads the order stream on until `is_met`, which is asked under the mutex, or to its end. Returns
/// is_met().
absl::StatusOr<bool> QueuedOrders::read_on_until(absl::FunctionRef<bool()> is_met) {
  constexpr std::size_t kPortion = 1'000;
  constexpr std::size_t kSkipEvery = 100 * kPageEntries;
  bool has_skipped = false;
  while (true) {
    StreamId after;
    bool has_much_to_skip = false;
    {
      const std::lock_guard lock(mutex_);
      if (is_met()) return true;
      after = read_to_;
      has_much_to_skip = after == StreamId() || read_since_skip_ >= kSkipEvery;
    }
    if (has_much_to_skip && !std::exchange(has_skipped, true)) {
      RETURN_IF_ERROR(skip_stored().status());
      continue;
    }
    ASSIGN_OR_RETURN(const auto news, read_news(after, kPortion));
    const std::lock_guard lock(mutex_);
    if (read_to_ != after) continue;  // another caller has read this portion, or all was forgotten
    const bool is_caught_up = std::exchange(caught_up_, news.caught_up) != news.caught_up;
    if (news.is_restarted || (is_caught_up && after != StreamId())) {
      begin_from_scratch();
      continue;
    }
    note(news.entries);
    if (news.entries.size() < kPortion) return is_met();
    has_skipped = has_skipped && read_since_skip_ < kSkipEvery;
  }
}

/// Reads the entries after `after`. While its store fails, an engine refuses native scripts, which may
/// write.
absl::StatusOr<QueuedOrders::News> QueuedOrders::read_news(StreamId after, std::size_t count_max) {
  const Request range =
      Request::of("XRANGE", keys_.order_stream, '(' + after.to_string(), "+", "COUNT", count_max);
  const Request requests[] = {
      Request::of("XREVRANGE", keys_.order_stream, "+", "-", "COUNT", 1),
      reads_natively_ ? make_queued_entries_request(keys_.order_stream, after, count_max) : range,
      Request::of("HGET", keys_.stream_owner(), kCaughtUpField)};
  const std::vector<Reply> replies = client_.pipeline(requests);
  ASSIGN_OR_RETURN(const auto newest, read_queued_entries(replies[0]));
  ASSIGN_OR_RETURN(auto entries, !reads_natively_        ? read_queued_entries(replies[1])
                                 : replies[1].is_error() ? read_queued_entries(client_.call(range))
                                                         : read_native_queued_entries(replies[1]));
  if (!replies[2].is_nil() && !replies[2].is_text()) {
    return to_status(replies[2], "reading the queued orders");
  }
  return News{.is_restarted = !newest.empty() && newest.front().id < after,
              .caught_up = std::string(replies[2].is_nil() ? "" : replies[2].text()),
              .entries = std::move(entries)};
}

/// Adds the entries behind read_to_. The caller has the mutex.
void QueuedOrders::note(std::span<const QueuedEntry> entries) {
  for (const QueuedEntry& entry : entries) {
    assert(read_to_ < entry.id);  // positions ascend
    const bool continues_page = !pages_.empty() && pages_.back().range.last == read_to_ &&
                                pages_.back().entries < kPageEntries;
    if (!continues_page) pages_.push_back({.range = {.after = read_to_}});
    Page& page = pages_.back();
    page.range.last = entry.id;
    page.users[page.entries++] = static_cast<std::uint32_t>(entry.user);
    read_to_ = entry.id;
    if (entry.order != 0) {
      known_.insert(entry.order, first_page_ + static_cast<std::uint32_t>(pages_.size()) - 1);
    }
  }
  read_since_skip_ += entries.size();
}

/// Returns the page that has the order; empty if none is known. The caller has the mutex.
std::optional<QueuedOrders::Range> QueuedOrders::find_page(OrderId order) const {
  const std::uint32_t page = known_.page_of(order);
  if (page < first_page_ || page - first_page_ >= pages_.size()) return std::nullopt;
  return pages_[page - first_page_].range;
}

absl::Status QueuedOrders::for_each_of(
    const UserId& user, absl::FunctionRef<void(const Order&, const OrderEntry&)> visit) {
  const auto read_all = read_on_until([] { return false; });
  if (!read_all.ok()) return read_all.status();
  for (const Range& page : find_pages_of(user)) {
    const absl::Status read = for_each_entry(
        client_, keys_.order_stream, page.after, page.last, [&](const OrderEntry& entry) {
          const auto order = read_order(entry);
          const bool is_his = order.ok() && order->user == user;
          if (is_his) visit(*order, entry);
          return true;
        });
    if (!read.ok()) return read;
  }
  return absl::OkStatus();
}

/// Returns the pages that may have an order of the user. Has the mutex for a few pages at a time:
/// purchases need it.
std::vector<QueuedOrders::Range> QueuedOrders::find_pages_of(const UserId& user) {
  constexpr std::uint32_t kPagesAtOnce = 64;
  const std::uint32_t hash = hash_of(user);
  std::vector<Range> found;
  std::uint32_t next = 0;
  while (true) {
    const std::lock_guard lock(mutex_);
    const std::uint32_t end = first_page_ + static_cast<std::uint32_t>(pages_.size());
    next = std::max(next, first_page_);
    for (const std::uint32_t stop = std::min(end, next + kPagesAtOnce); next < stop; ++next) {
      const Page& page = pages_[next - first_page_];
      if (page.may_have(hash)) found.push_back(page.range);
    }
    if (next == end) return found;
  }
}

/// Compares all of them, without a branch for each: the compiler makes that a few instructions.
bool QueuedOrders::Page::may_have(std::uint32_t user) const {
  std::uint32_t same = 0;
  for (const std::uint32_t other : users) same |= other == user ? 1U : 0U;
  return same != 0;
}

/// Moves read_to_ past entries that a worker has acknowledged, and forgets their pages. Gives up the
/// forgotten orders once all are stored. Returns the last entry up to which all are acknowledged.
absl::StatusOr<StreamId> QueuedOrders::skip_stored() {
  std::uint64_t times_forgotten_before = 0;
  {
    const std::lock_guard lock(mutex_);
    times_forgotten_before = known_.times_forgotten();
    read_since_skip_ = 0;
  }
  ASSIGN_OR_RETURN(const auto progress, read_stream_progress(client_, keys_));
  const std::lock_guard lock(mutex_);
  const bool is_all_stored = progress.acknowledged_to >= progress.last;
  if (is_all_stored && known_.times_forgotten() == times_forgotten_before) {
    known_.give_up_forgotten();
  }
  read_to_ = std::max(read_to_, progress.acknowledged_to);
  while (!pages_.empty() && pages_.front().range.last <= progress.acknowledged_to) {
    pages_.pop_front();
    ++first_page_;
  }
  return progress.acknowledged_to;
}

/// Returns an order whose entry is in the range and not acknowledged.
absl::StatusOr<std::optional<Order>> QueuedOrders::find_queued(OrderId order, const Range& range) {
  ASSIGN_OR_RETURN(auto found, find_in_stream(order, range));
  if (!found.has_value()) return std::nullopt;
  ASSIGN_OR_RETURN(const auto acknowledged, is_acknowledged(client_, keys_, found->entry));
  if (acknowledged) return std::nullopt;
  return std::move(found->order);
}

/// Returns an order whose entry is in the range.
absl::StatusOr<std::optional<QueuedOrders::Found>> QueuedOrders::find_in_stream(
    OrderId order, const Range& range) {
  const DecimalText id(order);
  std::optional<Found> found;
  const absl::Status read = for_each_entry(client_, keys_.order_stream, range.after, range.last,
                                           [&](const OrderEntry& entry) {
                                             if (entry.field("id") != id.view()) return true;
                                             auto its_order = read_order(entry);
                                             const auto its_id = StreamId::parse(entry.id);
                                             if (its_order.ok() && its_id) {
                                               found = {*std::move(its_order), *its_id};
                                             }
                                             return !found.has_value();
                                           });
  if (!read.ok()) return read;
  return found;
}

}  // namespace rushgate
