// How much of others' work a thread does before it passes the turn on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/executor/operation.h"
#include "engine/time/clock.h"

namespace rushgate {

/// Asked after each commit batch that leaves work to do. A value type, for one thread and one turn.
class TurnShare {
 public:
  /// A caller works for others for about this long after its own reply.
  static constexpr std::int64_t kForOthersUs = 100;
  /// The service thread then looks at its timers and completions.
  static constexpr int kServiceBatches = 64;

  /// The share of a caller that waits for `own`, which must stay alive. `own` may be empty.
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
  /// The share of the only thread there is.
  static TurnShare of_everything() { return {}; }

  [[nodiscard]] bool is_callers() const { return clock_ != nullptr; }

  /// Returns true if the thread has done its share. `had_fsync`: the batch ended with one.
  bool is_done_after_batch(bool had_fsync) {
    if (batches_left_) return --*batches_left_ <= 0;
    if (!is_callers()) return false;
    if (own_done_us_) return had_fsync || clock_->monotonic_us() - *own_done_us_ >= kForOthersUs;
    // The fsync of the batch that has the own reply is not for others alone.
    if (std::ranges::all_of(own_, is_done)) note_own_done();
    return false;
  }
  /// All batches from now on are for others.
  void note_own_done() {
    if (is_callers() && !own_done_us_) own_done_us_ = clock_->monotonic_us();
  }

 private:
  TurnShare() = default;
  static bool is_done(const Operation* own) { return own->is_answered() || own->is_blocked; }

  const Clock* clock_ = nullptr;  // of a caller
  std::span<const Operation* const> own_;
  std::optional<std::int64_t> own_done_us_;
  std::optional<int> batches_left_;
};

}  // namespace rushgate
