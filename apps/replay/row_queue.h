// The rows of a replay in batches, at full speed or at their due times.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <span>

#include "apps/input/requests_file.h"

namespace rushgate {

struct RowQueueOptions {
  std::size_t batch_max = 128;
  bool real_time = false;       // hand out no row before its time …
  std::int64_t from_at_ms = 0;  // … measured from here; earlier rows are due at once
};

/// Thread-safe. Does not own the rows, which are ordered by at_ms.
class RowQueue {
 public:
  using Clock = std::chrono::steady_clock;
  using Rows = std::span<const RequestRow>;

  RowQueue(Rows rows, const RowQueueOptions& options);

  /// Returns the next rows, or none at the end. In real time, blocks until a row is due.
  Rows take();
  /// Reports that a batch from take() has its replies.
  void done(Rows rows);
  /// Blocks until all rows before this batch have their replies. Returns false if the queue was
  /// stopped before that.
  bool wait_for_earlier(Rows rows);
  /// Makes take() return no more rows, and ends wait_for_earlier().
  void stop();

  /// Returns when a row was due. Returns `taken` for rows due before the start, and without real
  /// time.
  [[nodiscard]] Clock::time_point due(const RequestRow& row, Clock::time_point taken) const;
  /// Returns the time before which every row has its reply.
  [[nodiscard]] std::int64_t completed_up_to_ms() const;

 private:
  [[nodiscard]] std::size_t index_of(Rows rows) const {
    return static_cast<std::size_t>(rows.data() - rows_.data());
  }

  const Rows rows_;
  const RowQueueOptions options_;
  const Clock::time_point started_ = Clock::now();

  mutable std::mutex mutex_;
  std::condition_variable changed_;  // a batch is done, or the queue is stopped
  std::size_t next_ = 0;             // guarded by mutex_: first row not taken
  std::set<std::size_t> open_;       // guarded by mutex_: first rows of batches in progress
  bool stopping_ = false;            // guarded by mutex_
};

}  // namespace rushgate
