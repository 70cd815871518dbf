// Sends the rows of a file to a sale, on several threads.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "apps/input/requests_file.h"
#include "apps/patience.h"
#include "apps/replay/row_queue.h"
#include "engine/core/base/latency_histogram.h"
#include <rushgate/sale.h>

namespace rushgate {

struct ReplayOptions {
  int threads = 1;
  RowQueueOptions queue;
  /// Hash of the file. A row's idempotency key is `<file hash>:<line>`, and so is the id of its payment
  /// if the row names none. A repeated row gets its first reply, in later processes too.
  std::string file_hash;
  /// Of one piece; rows without an amount pay it for each piece.
  std::map<VoucherId, std::int64_t> price_cents;
  /// Rows whose failure may pass are sent again. If the last attempt fails too, the replay ends.
  Patience patience;
};

/// The calls of a sale that a replay makes: those of Sale.
struct SaleCalls {
  std::function<std::vector<BuyResult>(std::span<const BuyRequest>)> buy_all;
  std::function<std::vector<ChangeResult>(std::span<const PayRequest>)> pay_all = {};
  std::function<ChangeResult(OrderId)> cancel = {};
};

struct AcceptedRow {
  std::size_t line = 0;
  OrderId order = 0;
};

inline constexpr std::size_t kOutcomes = static_cast<std::size_t>(Outcome::kFailed) + 1;
using OutcomeCounts = std::array<std::size_t, kOutcomes>;  // rows, by outcome

inline constexpr std::size_t kChangeOutcomes = static_cast<std::size_t>(ChangeOutcome::kFailed) + 1;

/// Outcomes of the rows with one event, pay or cancel.
struct EventCounts {
  std::array<std::size_t, kChangeOutcomes> outcomes{};
  std::size_t without_order = 0;  // the purchase was refused

  [[nodiscard]] std::size_t total() const;
  void add(const EventCounts& other);
  friend bool operator==(const EventCounts&, const EventCounts&) = default;
};

struct ReplayResult {
  OutcomeCounts rows{};  // that buy
  EventCounts pays;
  EventCounts cancels;
  std::vector<AcceptedRow> accepted;
  LatencyHistogram latency;  // of a row, from its due time (or take()) to the reply of its batch
  std::string trouble;       // why it ended early; empty if complete or stopped
};

/// Runs a replay. Thread-safe except for join(). Does not own the rows.
class Replay {
 public:
  /// Starts the threads.
  Replay(std::span<const RequestRow> rows, ReplayOptions options, SaleCalls calls);
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
  struct Attempt {
    Clock::time_point taken;  // when the rows were taken
    bool is_last = false;
  };

  void run(ReplayResult& mine);
  bool process(RowQueue::Rows rows, ReplayResult& mine);
  bool process_equal(RowQueue::Rows rows, Clock::time_point taken, ReplayResult& mine);
  RowPointers ask(const RowPointers& rows, const Attempt& attempt, ReplayResult& mine);
  RowPointers buy(const RowPointers& rows, const Attempt& attempt, ReplayResult& mine);
  RowPointers pay(const RowPointers& rows, const Attempt& attempt, ReplayResult& mine);
  RowPointers cancel(const RowPointers& rows, const Attempt& attempt, ReplayResult& mine);
  void fail(ReplayResult& mine, std::string trouble);
  void count(const RequestRow& row, const BuyResult& result, ReplayResult& mine);
  void count(const RequestRow& row, const ChangeResult& result, ReplayResult& mine);
  void count_without_order(const RequestRow& row, ReplayResult& mine);
  void note_time(const RequestRow& row, const Attempt& attempt, ReplayResult& mine) const;
  [[nodiscard]] std::string key_of(const RequestRow& row) const;
  [[nodiscard]] std::size_t purchase_of(const RequestRow& row) const;
  [[nodiscard]] PayRequest payment_of(const RequestRow& row, std::size_t purchase) const;
  bool wait_ms(std::int64_t ms);

  const std::span<const RequestRow> rows_;
  const ReplayOptions options_;
  const SaleCalls calls_;
  RowQueue queue_;
  /// The order that each row got; 0: none. A row that follows others reads theirs, after their
  /// batches are done.
  std::vector<OrderId> orders_;
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
