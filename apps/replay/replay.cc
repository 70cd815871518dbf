#include "apps/replay/replay.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "engine/core/base/thread_name.h"

namespace rushgate {
namespace {

EventCounts& counts_of(const RequestRow& row, ReplayResult& result) {
  return row.event == RowEvent::kPay ? result.pays : result.cancels;
}

/// Returns the first rows, as far as they have the same event.
RowQueue::Rows equal_rows(RowQueue::Rows rows) {
  std::size_t count = 1;
  while (count < rows.size() && rows[count].event == rows[0].event) ++count;
  return rows.first(count);
}

}  // namespace

std::size_t EventCounts::total() const {
  return std::accumulate(outcomes.begin(), outcomes.end(), without_order);
}

void EventCounts::add(const EventCounts& other) {
  for (std::size_t i = 0; i < kChangeOutcomes; ++i) outcomes[i] += other.outcomes[i];
  without_order += other.without_order;
}

Replay::Replay(std::span<const RequestRow> rows, ReplayOptions options, SaleCalls calls)
    : rows_(rows),
      options_(std::move(options)),
      calls_(std::move(calls)),
      queue_(rows, options_.queue),
      orders_(rows.size()),
      running_(options_.threads),
      results_(static_cast<std::size_t>(options_.threads)) {
  try {
    for (ReplayResult& mine : results_) threads_.emplace_back([this, &mine] { run(mine); });
  } catch (...) {  // no further thread can start: the running ones must end first
    stop();
    join();
    throw;
  }
}

Replay::~Replay() {
  stop();
  join();
}

void Replay::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stopped_.notify_all();
  queue_.stop();
}

ReplayResult Replay::join() {
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  ReplayResult sum;
  for (const ReplayResult& result : results_) {
    for (std::size_t i = 0; i < kOutcomes; ++i) sum.rows[i] += result.rows[i];
    sum.pays.add(result.pays);
    sum.cancels.add(result.cancels);
    sum.accepted.insert(sum.accepted.end(), result.accepted.begin(), result.accepted.end());
    sum.latency.add(result.latency);
    if (sum.trouble.empty()) sum.trouble = result.trouble;
  }
  return sum;
}

void Replay::run(ReplayResult& mine) {
  name_this_thread("rg-buyer");
  try {
    for (auto rows = queue_.take(); !rows.empty(); rows = queue_.take()) {
      if (!process(rows, mine)) break;
      queue_.done(rows);
    }
  } catch (const std::exception& error) {
    fail(mine, fmt::format("buying failed: {}", error.what()));
  } catch (...) {
    fail(mine, "buying failed for an unknown reason");
  }
  --running_;
}

/// Ends the replay with a reason.
void Replay::fail(ReplayResult& mine, std::string trouble) {
  if (mine.trouble.empty()) mine.trouble = std::move(trouble);
  stop();
}

/// Returns false if the replay was stopped before all rows had their replies.
bool Replay::process(RowQueue::Rows rows, ReplayResult& mine) {
  const Clock::time_point taken = Clock::now();
  const bool follows = std::ranges::any_of(rows, &RequestRow::follows);
  if (follows && !queue_.wait_for_earlier(rows)) return false;
  while (!rows.empty()) {
    const RowQueue::Rows equal = equal_rows(rows);
    if (!process_equal(equal, taken, mine)) return false;
    rows = rows.subspan(equal.size());
  }
  return true;
}

/// Processes rows with the same event.
bool Replay::process_equal(RowQueue::Rows rows, Clock::time_point taken, ReplayResult& mine) {
  RowPointers open;
  open.reserve(rows.size());
  for (const RequestRow& row : rows) open.push_back(&row);
  for (int attempt = 1; !open.empty(); ++attempt) {
    open = ask(open, {.taken = taken, .is_last = attempt >= options_.patience.attempts_max}, mine);
    if (!open.empty() && !wait_ms(options_.patience.wait_after_ms(attempt))) return false;
  }
  return true;
}

/// Returns the rows that must be sent again.
Replay::RowPointers Replay::ask(const RowPointers& rows, const Attempt& attempt,
                                ReplayResult& mine) {
  switch (rows.front()->event) {
    case RowEvent::kBuy:
      return buy(rows, attempt, mine);
    case RowEvent::kPay:
      return pay(rows, attempt, mine);
    case RowEvent::kCancel:
      break;
  }
  return cancel(rows, attempt, mine);
}

Replay::RowPointers Replay::buy(const RowPointers& rows, const Attempt& attempt,
                                ReplayResult& mine) {
  std::vector<BuyRequest> requests;
  requests.reserve(rows.size());
  for (const RequestRow* const row : rows) {
    requests.push_back({.voucher = row->voucher,
                        .user = row->user,
                        .idempotency_key = key_of(*row),
                        .quantity = row->quantity,
                        .reference = row->reference});
  }
  const std::vector<BuyResult> results = calls_.buy_all(requests);
  RowPointers again;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (may_pass(results[i].outcome) && !attempt.is_last) {
      again.push_back(rows[i]);
      continue;
    }
    note_time(*rows[i], attempt, mine);
    count(*rows[i], results[i], mine);
  }
  return again;
}

Replay::RowPointers Replay::pay(const RowPointers& rows, const Attempt& attempt,
                                ReplayResult& mine) {
  RowPointers asked;
  std::vector<PayRequest> requests;
  for (const RequestRow* const row : rows) {
    const std::size_t purchase = purchase_of(*row);
    if (purchase == kNoRow) {
      count_without_order(*row, mine);
      continue;
    }
    asked.push_back(row);
    requests.push_back(payment_of(*row, purchase));
  }
  if (asked.empty()) return {};
  const std::vector<ChangeResult> results = calls_.pay_all(requests);
  RowPointers again;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (may_pass(results[i].outcome) && !attempt.is_last) {
      again.push_back(asked[i]);
      continue;
    }
    note_time(*asked[i], attempt, mine);
    count(*asked[i], results[i], mine);
  }
  return again;
}

Replay::RowPointers Replay::cancel(const RowPointers& rows, const Attempt& attempt,
                                   ReplayResult& mine) {
  RowPointers again;
  for (const RequestRow* const row : rows) {
    const std::size_t purchase = purchase_of(*row);
    if (purchase == kNoRow) {
      count_without_order(*row, mine);
      continue;
    }
    const ChangeResult result = calls_.cancel(orders_[purchase]);
    if (may_pass(result.outcome) && !attempt.is_last) {
      again.push_back(row);
      continue;
    }
    note_time(*row, attempt, mine);
    count(*row, result, mine);
  }
  return again;
}

std::string Replay::key_of(const RequestRow& row) const {
  return fmt::format("{}:{}", options_.file_hash, row.line);
}

/// Returns the index of the accepted purchase that a row pays for or cancels, or kNoRow.
std::size_t Replay::purchase_of(const RequestRow& row) const {
  for (std::size_t i = row.purchase; i != kNoRow; i = rows_[i].purchase) {
    if (orders_[i] != 0) return i;
    if (row.is_by_key) break;
  }
  return kNoRow;
}

PayRequest Replay::payment_of(const RequestRow& row, std::size_t purchase) const {
  PayRequest request{.order = orders_[purchase],
                     .payment = row.payment.empty() ? key_of(row) : row.payment,
                     .amount_cents = row.amount_cents};
  const auto price = options_.price_cents.find(row.voucher);
  if (request.amount_cents == 0 && price != options_.price_cents.end()) {
    request.amount_cents = price->second * rows_[purchase].quantity;
  }
  return request;
}

void Replay::note_time(const RequestRow& row, const Attempt& attempt, ReplayResult& mine) const {
  mine.latency.add((Clock::now() - queue_.due(row, attempt.taken)) / std::chrono::nanoseconds(1));
}

void Replay::count(const RequestRow& row, const BuyResult& result, ReplayResult& mine) {
  ++mine.rows[static_cast<std::size_t>(result.outcome)];
  ++completed_;
  if (result.outcome == Outcome::kAccepted) {
    mine.accepted.push_back({row.line, result.order});
    orders_[static_cast<std::size_t>(&row - rows_.data())] = result.order;
    ++accepted_;
  }
  if (!is_undecided(result.outcome)) return;
  fail(mine, fmt::format("line {}: {}: {}", row.line, outcome_name(result.outcome), result.detail));
}

void Replay::count(const RequestRow& row, const ChangeResult& result, ReplayResult& mine) {
  ++counts_of(row, mine).outcomes[static_cast<std::size_t>(result.outcome)];
  ++completed_;
  if (!is_undecided(result.outcome)) return;
  fail(mine, fmt::format("line {}: {}: {}", row.line, change_outcome_name(result.outcome),
                         result.detail));
}

void Replay::count_without_order(const RequestRow& row, ReplayResult& mine) {
  ++counts_of(row, mine).without_order;
  ++completed_;
}

/// Returns false if the replay was stopped meanwhile.
bool Replay::wait_ms(std::int64_t ms) {
  std::unique_lock lock(mutex_);
  return !stopped_.wait_for(lock, std::chrono::milliseconds(ms), [this] { return stopping_; });
}

}  // namespace rushgate
