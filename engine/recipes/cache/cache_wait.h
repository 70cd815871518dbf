// One wait for the end of another caller's load. Private to this module.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/recipes/cache/cache_core.h"
#include "engine/recipes/locks/lock_channels.h"
#include <rushgate/clock.h>

namespace rushgate {

/// Subscribes, tries, and pauses until a message, the end of the lease, or the deadline. Ends with
/// a value, or with a load for the caller to run. Thread-safe.
class CacheWait final : public ChannelListener, public std::enable_shared_from_this<CacheWait> {
 public:
  CacheWait(std::shared_ptr<CacheCore> core, CacheCore::Names names, std::int64_t deadline_ms,
            CacheCore::Attempted done);

  void start();
  /// Ends the wait. Returns false if it has ended already.
  bool finish(absl::StatusOr<CacheCore::Attempt> result);

  void subscribed(const absl::Status& status) override;
  void resumed() override { attempt(); }

 private:
  using Timer = std::optional<Scheduler::TimerId>;

  void attempt();
  void attempted(absl::StatusOr<CacheCore::Attempt> attempted);
  void deadline_passed();
  void set_timer(Timer& timer, std::int64_t due_ms, void (CacheWait::*run)());
  void pause_ended();
  [[nodiscard]] absl::Status too_late() const;

  const std::shared_ptr<CacheCore> core_;
  const CacheCore::Names names_;
  const std::int64_t deadline_ms_;

  std::mutex mutex_;
  // Guarded by mutex_:
  CacheCore::Attempted done_;
  Timer deadline_timer_;
  Timer pause_timer_;
  bool is_subscribed_ = false;
  bool is_done_ = false;
};

}  // namespace rushgate
