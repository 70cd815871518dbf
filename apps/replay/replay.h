// Sends the requests of a file to a sale, on several threads.
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
#include <rushgate/sale.h>

namespace rushgate {

struct ReplayOptions {
  int threads = 1;
  RowQueueOptions queue;
  /// Hash of the file. A row's idempotency key is `<file hash>:<line>`. A repeated row gets its
  /// first reply, in later processes too.
  std::string file_hash;
  /// Rows with the result `overloaded` or `outcome unknown` are sent again. The wait doubles each
  /// time, up to a maximum. If the last attempt fails too, the replay ends. It is patient for about
  /// 13 s. An abandoned rebuild on a Redis is taken over sooner (VoucherBook::kRebuildAbandonedMs).
  int attempts_max = 21;
  std::int64_t retry_after_ms = 5;
  std::int64_t retry_after_ms_max = 1'000;

  /// Returns the wait after the failed attempt number `attempt`, from 1.
  [[nodiscard]] std::int64_t wait_after_ms(int attempt) const;
};

/// Same as Sale::buy_all().
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
  LatencyHistogram latency;  // of a row, from its due time (or take()) to the reply of its batch
  std::string trouble;       // why it ended early; empty if complete or stopped
};

/// Runs a replay. Thread-safe except for join(). Does not own the rows.
class Replay {
 public:
  /// Starts the threads.
  Replay(std::span<const RequestRow> rows, ReplayOptions options, BuyAll buy_all);
  /// Calls stop() and waits for the threads.
  ~Replay();

  /// Takes no more rows. Rows in progress get their replies, but no further attempt.
  void stop();
  [[nodiscard]] bool ended() const { return running_.load() == 0; }
  /// Waits for the end. May be called once.
  ReplayResult join();

  [[nodiscard]] std::size_t completed() const { return completed_.load(); }
  [[nodiscard]] std::size_t accepted() const { return accepted_.load(); }
  [[nodiscard]] std::int64_t completed_up_to_ms() const { return queue_.completed_up_to_ms(); }

 private:
  using Clock = RowQueue::Clock;
  using RowPointers = std::vector<const RequestRow*>;

  void run(ReplayResult& mine);
  void process(RowQueue::Rows rows, ReplayResult& mine);
  RowPointers ask(const RowPointers& rows, Clock::time_point taken, bool is_last,
                  ReplayResult& mine);
  void fail(ReplayResult& mine, std::string trouble);
  void count(const RequestRow& row, const BuyResult& result, ReplayResult& mine);
  bool wait_ms(std::int64_t ms);

  const ReplayOptions options_;
  const BuyAll buy_all_;
  RowQueue queue_;
  std::atomic<std::size_t> completed_{0};
  std::atomic<std::size_t> accepted_{0};
  std::atomic<int> running_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stopping_ = false;              // guarded by mutex_
  std::vector<ReplayResult> results_;  // one per thread
  std::vector<std::thread> threads_;
};

}  // namespace rushgate
