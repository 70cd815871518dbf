#include "adapters/http/event_feed.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "adapters/flash_sale/sale_json.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/thread_name.h"

namespace rushgate::http {
namespace {

/// Returns one event. Its data has no line breaks.
std::string event_text(std::int64_t id, std::string_view name, const Json& data) {
  return concat("id: ", id, "\nevent: ", name,
                "\ndata: ", data.dump(-1, ' ', false, Json::error_handler_t::replace), "\n\n");
}

/// Returns the result of `call()`, or `otherwise` if a user's order store throws: no news.
template <class Result, class Call>
Result silently(Result otherwise, Call call) {
  try {
    return call();
  } catch (...) {
    return otherwise;
  }
}

}  // namespace

// ---- The feed ---------------------------------------------------------------------------------

void EventFeed::start() {
  thread_ = std::thread([this] { loop(); });
}

void EventFeed::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wakes_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void EventFeed::wait(std::int64_t position, std::weak_ptr<const void> client, Ready ready) {
  const std::lock_guard lock(mutex_);
  const bool is_first = waiting_.empty();
  const bool is_news = position != last_;
  has_news_ = has_news_ || is_news;
  waiting_.push_back({.position = position,
                      .since_ms = now_ms(),
                      .client = std::move(client),
                      .ready = std::move(ready)});
  if (is_first || is_news) wakes_.notify_all();
}

void EventFeed::wake() {
  {
    const std::lock_guard lock(mutex_);
    is_woken_ = true;
  }
  wakes_.notify_all();
}

void EventFeed::loop() {
  name_this_thread("rg-http-events");
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    if (waiting_.empty()) {
      wakes_.wait(lock, [this] { return is_stopping_ || !waiting_.empty(); });
    } else {
      const std::chrono::milliseconds patience(ms_until_look());
      wakes_.wait_for(lock, patience, [this, was_woken = is_woken_] {
        return is_stopping_ || has_news_ || is_woken_ != was_woken;
      });
    }
    if (is_stopping_) return;
    has_news_ = false;
    const bool looks = ms_until_look() == 0;
    if (looks) is_woken_ = false;
    std::vector<Waiting> waiting = std::exchange(waiting_, {});
    lock.unlock();
    if (looks) look_again();
    serve(waiting);
    lock.lock();
    waiting_.insert(waiting_.end(), std::make_move_iterator(waiting.begin()),
                    std::make_move_iterator(waiting.end()));
  }
}

/// Needs the mutex.
std::int64_t EventFeed::ms_until_look() const {
  if (looked_at_ms_ == 0) return 0;
  const std::int64_t wanted_ms = looked_at_ms_ + (is_woken_ ? pause_ms_ : period_ms_);
  return std::max<std::int64_t>(0, wanted_ms - now_ms());
}

void EventFeed::look_again() {
  last_ = silently(last_.load(), [this] { return look(); });
  looked_at_ms_ = now_ms();
}

/// Serves clients, and removes those that were served.
void EventFeed::serve(std::vector<Waiting>& waiting) {
  std::erase_if(waiting, [this](Waiting& one) {
    if (one.client.expired()) return true;
    const EventChunk chunk = next_of(one);
    if (chunk.text == nullptr) return false;
    one.ready(chunk);
    return true;
  });
}

EventChunk EventFeed::next_of(const Waiting& waiting) {
  static const auto kComment = std::make_shared<const std::string>(":\n\n");
  EventChunk chunk;
  if (waiting.position != last_) {
    chunk = silently(EventChunk{}, [&] { return read(waiting.position); });
  }
  if (chunk.text == nullptr && now_ms() - waiting.since_ms >= kHeartbeatMs) {
    return {.text = kComment, .position = waiting.position};
  }
  return chunk;
}

// ---- Orders -----------------------------------------------------------------------------------

OrderFeed::OrderFeed(FlashSale& sale)
    : EventFeed(sale.clock(), kPeriodMs, kPauseMs), store_(sale.orders().payments()) {
  start();
  notices_ = sale.on_step([this] { wake(); });
}

/// An error is like no news: the clients wait.
std::int64_t OrderFeed::look() {
  chunks_.clear();
  if (store_ == nullptr) return 0;
  const auto last = store_->last_position();
  if (last.ok()) last_seen_ = *last;
  return last_seen_;
}

EventChunk OrderFeed::read(std::int64_t position) {
  if (store_ == nullptr || position >= last_seen_) return {};
  EventChunk& chunk = chunks_[position];
  if (chunk.text != nullptr) return chunk;
  const auto changes = store_->changes(position, kChangesMax, {});
  if (!changes.ok() || changes->empty()) return {};
  std::string text;
  for (const OrderChange& change : *changes) {
    text += event_text(change.position, "order", to_json(change));
  }
  chunk = {.text = std::make_shared<const std::string>(std::move(text)),
           .position = changes->back().position};
  return chunk;
}

// ---- Vouchers ---------------------------------------------------------------------------------

namespace {

/// Returns the summary of the same voucher; null if there is none. `all` is in ascending order of ids.
const VoucherSummary* find_summary(const VoucherBoard::Summaries& all, const VoucherSummary& one) {
  const auto id_of = [](const VoucherSummary& summary) { return summary.voucher.id; };
  const auto found = std::ranges::lower_bound(all, one.voucher.id, {}, id_of);
  return found == all.end() || id_of(*found) != one.voucher.id ? nullptr : &*found;
}

/// Returns the orders per second between two summaries.
double rate_between(const VoucherSummary& then, const VoucherSummary& now, std::int64_t ms) {
  constexpr double kMsInSecond = 1'000;
  const std::int64_t sold = now.admitted.value_or(0) - then.admitted.value_or(0);
  return sold <= 0 ? 0 : static_cast<double>(sold) * kMsInSecond / static_cast<double>(ms);
}

Json board_json(const VoucherSummary& summary, double rate) {
  return {{"id", number_json(summary.voucher.id)},
          {"free", summary.free ? Json(*summary.free) : Json(nullptr)},
          {"admitted", summary.admitted ? Json(*summary.admitted) : Json(nullptr)},
          {"per_second", rate},
          {"version", summary.version}};
}

}  // namespace

VoucherFeed::VoucherFeed(FlashSale& sale, VoucherBoard& board)
    : EventFeed(sale.clock(), kPeriodMs, kPeriodMs),
      board_(board),
      stock_(sale.client(), sale.clock(), sale.sale().lanes(), on_stock_, 1, nullptr) {
  start();
}

bool VoucherFeed::may_have_changed() {
  stock_.report_if_due();
  if (std::exchange(is_stock_changed_, false)) {
    board_.expire();
    return true;
  }
  return !selling_.empty() || board_.is_expired() || now_ms() - read_at_ms_ >= kBoardAgeMsMax;
}

std::int64_t VoucherFeed::look() {
  if (!may_have_changed()) {
    seen_at_ms_ = now_ms();
    return position_;
  }
  const auto board = board_.read();
  if (!board.ok()) is_stock_changed_ = true;
  if (!board.ok() || *board == seen_) return position_;
  read_at_ms_ = now_ms();
  const auto before = std::exchange(seen_, *board);
  const std::int64_t ms =
      std::max<std::int64_t>(1, now_ms() - std::exchange(seen_at_ms_, now_ms()));
  Json all = Json::array();
  Json changed = Json::array();
  std::size_t known = 0;
  for (const VoucherSummary& now : *seen_) {
    const VoucherSummary* const then = before == nullptr ? nullptr : find_summary(*before, now);
    known += then == nullptr ? 0 : 1;
    const bool is_same = then != nullptr && then->free == now.free &&
                         then->admitted == now.admitted && then->version == now.version;
    const bool had_rate = selling_.erase(now.voucher.id) > 0;
    const double rate = then == nullptr ? 0 : rate_between(*then, now, ms);
    if (rate > 0) selling_.insert(now.voucher.id);
    Json json = board_json(now, rate);
    if (!is_same || had_rate) changed.push_back(json);
    all.push_back(std::move(json));
  }
  const bool is_one_gone = before != nullptr && known < before->size();
  if (before != nullptr && changed.empty() && !is_one_gone) return position_;
  ++position_;
  const auto text_of = [this](Json&& vouchers) {
    return std::make_shared<const std::string>(
        event_text(position_, "vouchers", {{"vouchers", std::move(vouchers)}}));
  };
  all_ = text_of(std::move(all));
  changed_ = is_one_gone ? all_ : text_of(std::move(changed));
  return position_;
}

EventChunk VoucherFeed::read(std::int64_t position) {
  if (position == position_) return {};
  return {.text = position + 1 == position_ ? changed_ : all_, .position = position_};
}

// ---- Places -----------------------------------------------------------------------------------

std::shared_ptr<const void> StreamPlaces::take() {
  if (free_->fetch_sub(1) <= 0) {
    free_->fetch_add(1);
    return nullptr;
  }
  return {free_.get(), [free = free_](const void*) { free->fetch_add(1); }};
}

}  // namespace rushgate::http
