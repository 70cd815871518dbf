// Buys what the rows of a file ask for, on several threads.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "apps/input/requests_file.h"
#include "apps/replay/row_queue.h"
#include "engine/base/latency_histogram.h"
#include "engine/sale/sale.h"

namespace rushgate {

struct ReplayOptions {
  int threads = 1;
  RowQueueOptions queue;
  /// A row's request key is `<file hash>:<line>`: asked again, by this process or a later one, it
  /// gets the answer that it got.
  std::string file_hash;
  /// Rows that were answered `overloaded` or `outcome unknown` are asked again; each time after
  /// twice the wait, up to a longest one. A row that still is after the last attempt ends the
  /// replay: something is broken. Patient for about 13 s: a rebuild that another process left on a
  /// Redis is taken over sooner (VoucherBook::kRebuildAbandonedMs).
  int attempts_max = 21;
  std::int64_t retry_after_ms = 5;
  std::int64_t retry_after_ms_max = 1'000;

  /// How long it waits when the `attempt`th, 1 being the first, did not help.
  [[nodiscard]] std::int64_t wait_after_ms(int attempt) const;
};

/// Sale::buy_all().
using BuyAll = std::function<std::vector<BuyResult>(std::span<const BuyRequest>)>;

struct AcceptedRow {
  std::size_t line = 0;
  OrderId order = 0;
};

inline constexpr std::size_t kOutcomes = static_cast<std::size_t>(Outcome::kFailed) + 1;
using OutcomeCounts = std::array<std::size_t, kOutcomes>;  // rows, by outcome

struct ReplayResult {
  OutcomeCounts rows{};
  std::vector<AcceptedRow> accepted;
  LatencyHistogram latency;  // a row's: from when it was due (or taken) to its batch's answer
  std::string trouble;       // why it ended early; empty if it did not, or was stopped
};

/// Thread-safe but for join(). Does not own the rows.
class Replay {
 public:
  /// Begins.
  Replay(std::span<const RequestRow> rows, ReplayOptions options, BuyAll buy_all);
  /// Stops.
  ~Replay();

  /// Takes no more rows; those that were taken are answered, but not asked again.
  void stop();
  [[nodiscard]] bool ended() const { return running_.load() == 0; }
  /// Waits for the end. Once.
  ReplayResult join();

  [[nodiscard]] std::size_t answered() const { return answered_.load(); }
  [[nodiscard]] std::size_t accepted() const { return accepted_.load(); }
  [[nodiscard]] std::int64_t answered_up_to_ms() const { return queue_.answered_up_to_ms(); }

 private:
  using Clock = RowQueue::Clock;
  using RowPointers = std::vector<const RequestRow*>;

  void run(ReplayResult& mine);
  void answer(RowQueue::Rows rows, ReplayResult& mine);
  RowPointers ask(const RowPointers& rows, Clock::time_point taken, bool is_last,
                  ReplayResult& mine);
  void fail(ReplayResult& mine, std::string trouble);
  void count(const RequestRow& row, const BuyResult& result, ReplayResult& mine);
  bool wait_ms(std::int64_t ms);

  const ReplayOptions options_;
  const BuyAll buy_all_;
  RowQueue queue_;
  std::atomic<std::size_t> answered_{0};
  std::atomic<std::size_t> accepted_{0};
  std::atomic<int> running_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stopping_ = false;              // guarded by mutex_
  std::vector<ReplayResult> results_;  // one a thread
  std::vector<std::thread> threads_;
};

}  // namespace rushgate
