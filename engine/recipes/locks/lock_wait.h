// One wait for a lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "engine/recipes/locks/lock_channels.h"
#include "engine/recipes/locks/lock_core.h"
#include <rushgate/clock.h>

namespace rushgate {

/// Subscribes, tries, and pauses until a message, the end of the holder's lease, or the deadline.
/// Thread-safe.
class LockWait final : public ChannelListener, public std::enable_shared_from_this<LockWait> {
 public:
  LockWait(std::shared_ptr<LockCore> core, LockWish wish, std::optional<std::int64_t> deadline_ms,
           LockCore::Callback done);

  void start();
  /// Ends the wait, once.
  void finish(absl::StatusOr<bool> result);

  void subscribed(const absl::Status& status) override;
  void resumed() override { attempt(); }

 private:
  using Timer = std::optional<Scheduler::TimerId>;

  void join();
  void attempt();
  void attempted(const absl::StatusOr<LockCore::Attempt>& attempted);
  void deadline_passed();
  void pause_for(std::int64_t lease_left_ms);
  void set_timer(Timer& timer, std::int64_t due_ms, void (LockWait::*run)());
  void pause_ended();
  [[nodiscard]] bool is_late() const;
  [[nodiscard]] std::int64_t retry_at_ms() const;

  const std::shared_ptr<LockCore> core_;
  const LockWish wish_;
  const std::string channel_;
  const std::optional<std::int64_t> deadline_ms_;
  const std::int64_t began_at_ms_;  // monotonic

  std::mutex mutex_;
  // Guarded by mutex_:
  LockCore::Callback done_;
  Timer deadline_timer_;
  Timer pause_timer_;
  bool is_subscribed_ = false;
  bool is_done_ = false;
};

}  // namespace rushgate
