// Durability `everysec`: an fsync a second while there is something to sync.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"

namespace rushgate {

/// Thread-safe. Its thread sleeps while nothing was written.
class BackgroundSync {
 public:
  static constexpr std::int64_t kEveryMs = 1'000;

  /// `sync` runs on a thread of its own. `report`, which must throw nothing, gets an error if `sync`
  /// throws.
  BackgroundSync(absl::AnyInvocable<void()> sync,
                 absl::AnyInvocable<void(const absl::Status&)> report);
  ~BackgroundSync() { stop(); }

  void start();
  /// Syncs once more if something was written.
  void stop();

  /// Reports that something was written.
  void note_write();

 private:
  void loop();
  void sync();

  const absl::Status thrown_ = absl::ResourceExhaustedError("the sync threw an exception");
  absl::AnyInvocable<void()> sync_;
  absl::AnyInvocable<void(const absl::Status&)> report_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool written_ = false;   // guarded by mutex_
  bool stopping_ = false;  // guarded by mutex_
};

}  // namespace rushgate
