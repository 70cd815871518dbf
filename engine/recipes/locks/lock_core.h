// The state that a LockManager shares with its locks.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/recipes/locks/lock_channels.h"
#include "engine/recipes/locks/lock_hold.h"
#include "engine/recipes/locks/lock_kind.h"
#include "engine/recipes/locks/lock_leases.h"
#include "engine/recipes/locks/lock_scripts.h"
#include <rushgate/backend.h>
#include <rushgate/client.h>
#include <rushgate/locks.h>
#include <rushgate/script.h>

namespace rushgate {

/// A request for a lock.
struct LockWish {
  std::string name;
  LockKind kind = LockKind::kPlain;
  std::uint64_t owner = 0;
  std::int64_t lease_ms = 0;  // 0: the watchdog's
  std::int64_t queue_ms = 0;  // a fair lock: how long the owner will wait; 0: not at all
  std::vector<std::string> permits = {};  // of a Semaphore: 16 bytes each
  std::int64_t count = 0;                 // of a PlainSemaphore: the permits
};

class LockWait;

/// Thread-safe. Completions and timers keep it alive, and do nothing after close().
class LockCore : public std::enable_shared_from_this<LockCore> {
 public:
  using Callback = absl::AnyInvocable<void(absl::StatusOr<bool>)>;
  /// The result of an attempt: true, or how long the holder's lease lasts; negative: for ever.
  struct Attempt {
    bool is_acquired = false;
    std::int64_t lease_left_ms = 0;
  };

  LockCore(Backend& backend, LockManagerOptions options);
  void close();

  [[nodiscard]] const Clock& clock() const { return clock_; }
  [[nodiscard]] Scheduler& scheduler() { return scheduler_; }
  [[nodiscard]] LockChannels& channels() { return *channels_; }
  [[nodiscard]] LockLeases& leases() { return *leases_; }
  [[nodiscard]] const LockManagerOptions& options() const { return options_; }
  [[nodiscard]] bool is_closed() const;
  /// Returns true on a Redis Cluster. Messages can be lost there while a slot moves.
  [[nodiscard]] bool has_slots() const { return has_slots_; }
  /// Returns the number of the calling thread or fiber.
  [[nodiscard]] std::uint64_t caller() const;

  /// Tries until `wait_ms` have passed; negative: for ever. Suspends the caller.
  absl::StatusOr<bool> acquire(LockWish wish, std::int64_t wait_ms);
  void acquire_async(LockWish wish, std::int64_t wait_ms, Callback done);
  void attempt_async(const LockWish& wish, absl::AnyInvocable<void(absl::StatusOr<Attempt>)> done);
  void remove(const std::shared_ptr<LockWait>& wait);

  /// Removes the owner from the queue of a fair lock.
  void leave_queue(const LockWish& wish);
  /// Returns the channel that a wait subscribes to.
  [[nodiscard]] std::string wait_channel(const LockWish& wish) const;

  absl::Status release(const LockHold& hold);
  /// Returns true if the owner still holds the lock.
  absl::StatusOr<bool> release_once(const LockHold& hold);
  /// Releases the permits of a Semaphore, if they are held, without waiting for the reply.
  void give_back(const LockWish& wish);
  /// Runs a script whose KEYS are keys_of() the lock, latch or semaphore, and returns its number.
  /// `action` is for the messages of errors.
  absl::StatusOr<std::int64_t> run_for_number(const LockWish& wish, const Script& script,
                                              std::string_view action,
                                              std::span<const std::string_view> arguments = {});
  /// The same with a number as the only argument.
  absl::StatusOr<std::int64_t> run_for_number(const LockWish& wish, const Script& script,
                                              std::string_view action, std::int64_t argument);
  /// Returns the count of a latch or a PlainSemaphore; 0 if there is none.
  absl::StatusOr<std::int64_t> count(const std::string& name);

  absl::Status set_lease(const LockHold& hold, std::int64_t lease_ms);
  /// Reads the state of the lock, with the holds of this owner.
  absl::StatusOr<LockState> state(const LockHold& hold);
  /// Ends the holds of all owners. Returns true if there were any.
  absl::StatusOr<bool> force_release(const LockHold& hold);

 private:
  /// Tries once, and waits for the reply.
  absl::StatusOr<Attempt> attempt(const LockWish& wish);
  /// Waits until `deadline_ms`, or for ever. `done` runs as a callback.
  void wait(LockWish wish, std::optional<std::int64_t> deadline_ms, Callback done);
  absl::StatusOr<Reply> run_for(const LockWish& wish, const Script& script,
                                std::span<const std::string_view> arguments);
  /// Returns the form of a script that publishes as this backend needs it.
  [[nodiscard]] const Script& form_of(const Script& script) const {
    return has_slots_ ? with_shard_channels(script) : script;
  }
  [[nodiscard]] std::vector<std::string> arguments_of(const LockWish& wish) const;
  [[nodiscard]] Request request_of(const LockWish& wish, bool by_text) const;
  absl::StatusOr<Attempt> read(const LockWish& wish, std::int64_t sent_at_ms, const Reply& reply);
  [[nodiscard]] std::int64_t lease_of(const LockWish& wish) const;
  [[nodiscard]] absl::Status not_held(const LockHold& hold) const;

  // A reference to the backend could dangle when completions run: it may be a wrapper of another
  // one.
  const Clock& clock_;
  Scheduler& scheduler_;
  const LockManagerOptions options_;
  const bool can_lose_replies_;
  const bool has_slots_;  // a Redis Cluster
  const std::shared_ptr<Client> client_;
  const std::shared_ptr<LockChannels> channels_;
  const std::shared_ptr<LockLeases> leases_;

  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::set<std::shared_ptr<LockWait>> waits_;
  std::uint64_t releases_ = 0;
  bool is_closed_ = false;
};

}  // namespace rushgate
