// The work of a turn that depends on the time: expired keys and timeouts of blocked clients.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/redis/commands/command_context.h"
#include "engine/redis/executor/service_thread.h"
#include "engine/redis/executor/unblocker.h"
#include <rushgate/clock.h>

namespace rushgate {

/// Belongs to the thread that holds the turn, except where noted.
class DueWork {
 public:
  /// `is_manual`: the service thread needs no wake-up.
  DueWork(CommandServices& services, Unblocker& unblocker, const Clock& clock,
          ServiceThread& service, bool is_manual)
      : services_(services),
        unblocker_(unblocker),
        clock_(clock),
        service_(service),
        is_manual_(is_manual) {}

  /// Returns the time of the next work (monotonic ms), or ServiceThread::kNever. Any thread may
  /// call it.
  [[nodiscard]] std::int64_t next_ms() const { return next_ms_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool is_planned() const { return next_ms() != ServiceThread::kNever; }
  [[nodiscard]] bool is_due() const { return is_planned() && clock_.monotonic_ms() >= next_ms(); }

  /// Ends CLIENT PAUSE if its time is over.
  void end_pause();
  /// Removes a bounded number of expired keys, except in a pause.
  void remove_expired();
  /// Retries and times out blocked clients whose time has come, and serves the clients blocked on keys
  /// that were signalled since.
  void serve_blocked();
  /// Recomputes next_ms(), and wakes the service thread if that is earlier than before.
  void plan_next();

 private:
  /// Returns the time (monotonic ms) to remove expired keys, or ServiceThread::kNever.
  [[nodiscard]] std::int64_t next_removal_ms() const;
  [[nodiscard]] std::int64_t end_of_pause_ms() const;
  /// Returns the time (monotonic ms) to retry a blocked command, or ServiceThread::kNever.
  [[nodiscard]] std::int64_t next_retry_ms() const;
  /// Returns the time (monotonic ms) to check whether `at_ms` (since 1970 UTC) has come.
  [[nodiscard]] std::int64_t check_ms(std::int64_t at_ms) const;

  CommandServices& services_;
  Unblocker& unblocker_;
  const Clock& clock_;
  ServiceThread& service_;
  const bool is_manual_;
  std::atomic<std::int64_t> next_ms_{ServiceThread::kNever};
  bool lacks_memory_ = false;  // for the removal of expired keys
};

}  // namespace rushgate
