// The store of an executor, its failure, and the end of that failure.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "engine/redis/commands/statistics.h"
#include "engine/redis/executor/background_sync.h"
#include "engine/redis/executor/service_thread.h"
#include <rushgate/clock.h>
#include <rushgate/store.h>

namespace rushgate {

/// Owns the store, syncs it, and keeps the first failure of a commit or a sync until the store works
/// again (StoreRecovery).
class StoreGuard {
 public:
  /// `is_manual`: sync_if_due() does the work of the thread for durability kEverySec.
  StoreGuard(std::unique_ptr<Store> store, const Clock& clock, bool is_manual);

  /// Starts the thread for durability kEverySec, if it is needed.
  void start();
  /// Syncs once more with durability kEverySec, and closes the store. No thread may use store()
  /// any more.
  void close();

  /// Must not be used after close().
  [[nodiscard]] Store& store() { return *store_; }
  [[nodiscard]] Durability durability() const { return durability_; }

  // ---- Any thread ----

  /// Makes all commits so far safe against power loss. Returns the first failure, if there is one.
  absl::Status sync();
  /// As Store::copy_to(). A failure of the copy is none of the store. One of the store ends the copy.
  absl::Status copy_to(const std::filesystem::path& dir, const std::filesystem::path& previous,
                       AfterPortion after);
  /// Returns the first failure. kUnavailable: the store may work again later. Any other code: only
  /// another store can help, as the message says.
  [[nodiscard]] absl::Status health() const;
  [[nodiscard]] bool has_failed() const { return has_failed_; }
  [[nodiscard]] const CommitCounts& counts() const { return counts_; }
  /// Stores a failure. Throws nothing.
  void fail(const absl::Status& reason);

  // ---- Recovery ----

  /// Returns true if the store can be reopened after a failure. Constant.
  [[nodiscard]] bool can_recover() const { return can_recover_; }
  /// Returns true if the store has failed, and may work again.
  [[nodiscard]] bool is_recovering() const { return has_failed_ && can_recover_ && !is_given_up_; }
  /// Sets the function to be called after a failure. It must throw nothing.
  void on_failure(std::function<void()> call) { on_failure_ = std::move(call); }
  /// Reopens the store, which has failed. `run_in_turn` runs a function in the turn.
  absl::Status reopen(Store::Exclusively run_in_turn);

  // ---- The thread that holds the turn ----

  /// Forgets the failure: the store works again.
  void recover();
  /// Makes the failure final.
  void give_up(const absl::Status& reason);

  /// Reports a commit, which durability kEverySec syncs within a second. `had_fsync`: it ended with
  /// one.
  void note_commit(bool had_fsync);

  // ---- Manual mode ----

  /// Returns the time of the next sync (monotonic ms), or ServiceThread::kNever.
  [[nodiscard]] std::int64_t sync_due_ms() const { return sync_due_ms_; }
  void sync_if_due(std::int64_t monotonic_ms);

 private:
  absl::Status use(absl::FunctionRef<absl::Status(Store& store)> call);

  const Clock& clock_;
  const bool is_manual_;
  const Durability durability_;
  const bool can_recover_;
  std::function<void()> on_failure_;  // constant after construction of the executor
  CommitCounts counts_;
  std::atomic<bool> has_failed_{false};
  std::atomic<bool> is_given_up_{false};
  mutable std::mutex mutex_;
  std::condition_variable use_ended_;
  int uses_ = 0;                  // running calls of sync() and copy_to(). Guarded by mutex_
  absl::Status failure_;          // guarded by mutex_; the first one stays
  std::shared_ptr<Store> store_;  // reset by close(), under mutex_
  std::int64_t sync_due_ms_ = ServiceThread::kNever;  // manual mode with kEverySec
  BackgroundSync background_sync_;                    // idle in manual mode
};

}  // namespace rushgate
