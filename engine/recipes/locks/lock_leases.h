// The leases that the owners of one process hold: their renewal and their loss.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "engine/recipes/locks/lock_hold.h"
#include <rushgate/backend.h>
#include <rushgate/client.h>
#include <rushgate/locks.h>

namespace rushgate {

/// Thread-safe. Times are those of the backend's monotonic clock.
///
/// A JVM that renews its read lock sets the leases of all readers to its own watchdog's. So a
/// longer read lease is certain only for the watchdog's time after each request that set it, and is
/// set again until it ends.
class LockLeases : public std::enable_shared_from_this<LockLeases> {
 public:
  using Lost = std::function<void(const LockHold& hold)>;

  /// `on_lost` runs when a lease ended that its owner has not released.
  LockLeases(Backend& backend, std::shared_ptr<Client> client, const LockManagerOptions& options,
             Lost on_lost);

  /// Adds a hold. An acquisition that was sent at `sent_at_ms` succeeded.
  void add(const LockHold& hold, std::int64_t sent_at_ms, std::int64_t lease_ms, bool is_renewed,
           std::int64_t token);

  /// Stops renewal if the release about to be sent is the last one. Returns the lease in ms;
  /// nothing if the lock is not held.
  std::optional<std::int64_t> begin_release(const LockHold& hold);
  /// Ends a release. `is_held`: the owner still holds the lock. Returns false if it should not: an
  /// acquisition succeeded whose reply was lost.
  bool end_release(const LockHold& hold, bool is_held);

  [[nodiscard]] bool is_held(const LockHold& hold) const;
  [[nodiscard]] std::int64_t token(const LockHold& hold) const;
  /// Sets the lease, as a request did that was sent at `sent_at_ms`.
  void set_lease(const LockHold& hold, std::int64_t sent_at_ms, std::int64_t lease_ms);

  /// Notes that a request that was sent at `sent_at_ms` may have set the lease: its reply was lost.
  void lease_may_be(const LockHold& hold, std::int64_t sent_at_ms, std::int64_t lease_ms);

  /// Disables all timers. Afterwards no lock is held.
  void close();

 private:
  struct Lease {
    int holds = 0;
    std::int64_t lease_ms = 0;
    bool is_renewed = false;
    std::int64_t ends_at_ms = 0;
    std::int64_t certain_until_ms = 0;  // earlier only if others can shorten the lease
    std::int64_t token = 0;
    std::uint64_t generation = 0;  // of its timer
    std::optional<Scheduler::TimerId> timer = {};

    /// Returns true if requests set it again while it lasts.
    [[nodiscard]] bool is_set_again() const { return is_renewed || certain_until_ms < ends_at_ms; }
  };

  void begin(const LockHold& hold, Lease& lease, std::int64_t sent_at_ms, std::int64_t ends_at_ms);
  void set_timer(const LockHold& hold, Lease& lease, std::int64_t due_ms);
  void cancel_timer(Lease& lease);
  void fire(const LockHold& hold, std::uint64_t generation);
  void renewed(const LockHold& hold, std::uint64_t generation, std::int64_t sent_at_ms,
               const Reply& reply);
  Lease* find(const LockHold& hold, std::uint64_t generation);

  const Clock& clock_;
  Scheduler& scheduler_;
  const std::shared_ptr<Client> client_;
  const std::string client_id_;
  const std::int64_t watchdog_lease_ms_;
  const Lost on_lost_;

  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::map<LockHold, Lease> leases_;
  std::uint64_t generations_ = 0;
  bool is_closed_ = false;
};

}  // namespace rushgate
