// The rows of a replay, handed out in batches: as fast as they are taken, or at their time.
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
  bool real_time = false;       // no row before its time …
  std::int64_t from_at_ms = 0;  // … the clock starting here: what lies before is due at once
};

/// Thread-safe. Does not own the rows, which are in order of at_ms.
class RowQueue {
 public:
  using Clock = std::chrono::steady_clock;
  using Rows = std::span<const RequestRow>;

  RowQueue(Rows rows, const RowQueueOptions& options);

  /// The next rows, in real time only such as are due, waiting for them; none at the end.
  Rows take();
  /// What take() gave is answered.
  void done(Rows rows);
  /// take() gives no more.
  void stop();

  /// When a row was due: `taken` if it was due before the clock started, or without real time.
  [[nodiscard]] Clock::time_point due(const RequestRow& row, Clock::time_point taken) const;
  /// Every row before this moment is answered.
  [[nodiscard]] std::int64_t answered_up_to_ms() const;

 private:
  const Rows rows_;
  const RowQueueOptions options_;
  const Clock::time_point started_ = Clock::now();

  mutable std::mutex mutex_;
  std::condition_variable stopped_;
  std::size_t next_ = 0;              // guarded by mutex_: first row not taken
  std::set<std::size_t> unanswered_;  // guarded by mutex_: first rows of the batches that are out
  bool stopping_ = false;             // guarded by mutex_
};

}  // namespace rushgate
