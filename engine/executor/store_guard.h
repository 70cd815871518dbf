// The store of an executor, and its first failure.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "absl/status/status.h"
#include "engine/executor/background_sync.h"
#include "engine/executor/service_thread.h"
#include <rushgate/clock.h>
#include <rushgate/store.h>

namespace rushgate {

/// Owns the store, syncs it, and keeps the first failure of a commit or a sync.
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
  /// Returns the first failure.
  [[nodiscard]] absl::Status health() const;
  [[nodiscard]] bool has_failed() const { return has_failed_; }
  /// Stores a failure. Throws nothing.
  void fail(const absl::Status& reason);

  // ---- The thread that holds the turn ----

  /// Reports a commit, which durability kEverySec syncs within a second.
  void note_commit();

  // ---- Manual mode ----

  /// Returns the time of the next sync (monotonic ms), or ServiceThread::kNever.
  [[nodiscard]] std::int64_t sync_due_ms() const { return sync_due_ms_; }
  void sync_if_due(std::int64_t monotonic_ms);

 private:
  const Clock& clock_;
  const bool is_manual_;
  const Durability durability_;
  std::atomic<bool> has_failed_{false};
  mutable std::mutex mutex_;
  absl::Status failure_;                              // guarded by mutex_; the first one stays
  std::shared_ptr<Store> store_;                      // reset by close(), under mutex_
  std::int64_t sync_due_ms_ = ServiceThread::kNever;  // manual mode with kEverySec
  BackgroundSync background_sync_;                    // idle in manual mode
};

}  // namespace rushgate
