// The amount of other clients' work that a thread does before it passes the turn on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "engine/redis/executor/operation.h"
#include <rushgate/clock.h>

namespace rushgate {

/// Checked after each commit batch that leaves work, and within a batch before each request of
/// another client. A value type, for one thread and one turn.
class TurnShare {
 public:
  /// Time that a caller works for others after its own requests have run. It gets this time once
  /// more after its replies, if that batch had time left.
  static constexpr std::int64_t kForOthersUs = 100;
  /// After so many batches, the service thread checks its timers and completions.
  static constexpr int kServiceBatches = 64;

  /// Returns the share of a caller that waits for `own`, which must stay alive and may be empty.
  static TurnShare of_caller(const Clock& clock, std::span<const Operation* const> own) {
    TurnShare share;
    share.clock_ = &clock;
    share.own_ = own;
    return share;
  }
  static TurnShare of_service_thread() {
    TurnShare share;
    share.batches_left_ = kServiceBatches;
    return share;
  }
  /// Returns an unlimited share, for the only thread.
  static TurnShare of_everything() { return {}; }

  [[nodiscard]] bool is_callers() const { return clock_ != nullptr; }

  /// Returns true if the share is done. `had_fsync`: the batch ended with an fsync.
  bool is_done_after_batch(bool had_fsync) {
    if (batches_left_) return --*batches_left_ <= 0;
    if (!is_callers()) return false;
    if (is_over_) return true;
    if (is_for_others_) return had_fsync || time_for_others_us() >= kForOthersUs;
    // The fsync of the batch with the caller's own reply does not count as work for others.
    if (std::ranges::all_of(own_, is_done)) note_own_done();
    return false;
  }
  /// Counts all further batches as work for others.
  void note_own_done() {
    if (!is_callers() || std::exchange(is_for_others_, true)) return;
    others_from_us_ = clock_->monotonic_us();
  }

  /// Returns true if the caller's own requests have run.
  [[nodiscard]] bool has_own_run() {
    if (!is_callers()) return false;
    while (own_run_ < own_.size() && has_run(*own_[own_run_])) ++own_run_;
    return own_run_ == own_.size();
  }
  /// Checked before a request of another client. Returns true if the batch must end before it.
  [[nodiscard]] bool ends_before_foreign_request() {
    if (!others_from_us_) others_from_us_ = clock_->monotonic_us();
    return is_over_ = time_for_others_us() >= kForOthersUs;
  }
  /// Returns the last result of ends_before_foreign_request().
  [[nodiscard]] bool is_over() const { return is_over_; }

 private:
  TurnShare() = default;
  static bool is_done(const Operation* own) { return own->state.is_replied() || own->is_blocked; }
  /// Replies are checked only inside a batch: a queued operation may be refused meanwhile.
  static bool has_run(const Operation& own) {
    return is_done(&own) || (own.in_batch && own.finished());
  }
  [[nodiscard]] std::int64_t time_for_others_us() const {
    return clock_->monotonic_us() - *others_from_us_;
  }

  const Clock* clock_ = nullptr;  // of a caller
  std::span<const Operation* const> own_;
  std::size_t own_run_ = 0;     // at least so many of them have run
  bool is_for_others_ = false;  // since the last batch, or longer
  bool is_over_ = false;
  std::optional<std::int64_t> others_from_us_;  // start of the time for others
  std::optional<int> batches_left_;
};

}  // namespace rushgate
