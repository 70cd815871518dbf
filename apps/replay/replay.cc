#include "apps/replay/replay.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include <fmt/format.h>

namespace rushgate {
namespace {

bool is_worth_asking_again(Outcome outcome) {
  return outcome == Outcome::kOverloaded || outcome == Outcome::kUnavailable ||
         outcome == Outcome::kOutcomeUnknown;
}

bool is_final(Outcome outcome) {
  return !is_worth_asking_again(outcome) && outcome != Outcome::kFailed;
}

}  // namespace

std::int64_t ReplayOptions::wait_after_ms(int attempt) const {
  std::int64_t wait_ms = retry_after_ms;
  for (int i = 1; i < attempt && wait_ms < retry_after_ms_max; ++i) wait_ms *= 2;
  return std::min(wait_ms, retry_after_ms_max);
}

Replay::Replay(std::span<const RequestRow> rows, ReplayOptions options, BuyAll buy_all)
    : options_(std::move(options)),
      buy_all_(std::move(buy_all)),
      queue_(rows, options_.queue),
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
    sum.accepted.insert(sum.accepted.end(), result.accepted.begin(), result.accepted.end());
    sum.latency.add(result.latency);
    if (sum.trouble.empty()) sum.trouble = result.trouble;
  }
  return sum;
}

void Replay::run(ReplayResult& mine) {
  try {
    for (auto rows = queue_.take(); !rows.empty(); rows = queue_.take()) {
      process(rows, mine);
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

void Replay::process(RowQueue::Rows rows, ReplayResult& mine) {
  const Clock::time_point taken = Clock::now();
  RowPointers open;
  open.reserve(rows.size());
  for (const RequestRow& row : rows) open.push_back(&row);
  for (int attempt = 1; !open.empty(); ++attempt) {
    open = ask(open, taken, attempt >= options_.attempts_max, mine);
    if (!open.empty() && !wait_ms(options_.wait_after_ms(attempt))) return;
  }
}

/// Returns the rows that must be sent again.
Replay::RowPointers Replay::ask(const RowPointers& rows, Clock::time_point taken, bool is_last,
                                ReplayResult& mine) {
  std::vector<BuyRequest> requests;
  requests.reserve(rows.size());
  for (const RequestRow* const row : rows) {
    requests.push_back(
        {row->voucher, row->user, fmt::format("{}:{}", options_.file_hash, row->line)});
  }
  const std::vector<BuyResult> results = buy_all_(requests);
  const Clock::time_point replied = Clock::now();

  RowPointers again;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (is_worth_asking_again(results[i].outcome) && !is_last) {
      again.push_back(rows[i]);
      continue;
    }
    mine.latency.add((replied - queue_.due(*rows[i], taken)) / std::chrono::nanoseconds(1));
    count(*rows[i], results[i], mine);
  }
  return again;
}

void Replay::count(const RequestRow& row, const BuyResult& result, ReplayResult& mine) {
  ++mine.rows[static_cast<std::size_t>(result.outcome)];
  ++completed_;
  if (result.outcome == Outcome::kAccepted) {
    mine.accepted.push_back({row.line, result.order});
    ++accepted_;
  }
  if (is_final(result.outcome)) return;
  fail(mine, fmt::format("line {}: {}: {}", row.line, outcome_name(result.outcome), result.detail));
}

/// Returns false if the replay was stopped meanwhile.
bool Replay::wait_ms(std::int64_t ms) {
  std::unique_lock lock(mutex_);
  return !stopped_.wait_for(lock, std::chrono::milliseconds(ms), [this] { return stopping_; });
}

}  // namespace rushgate
