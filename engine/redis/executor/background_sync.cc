#include "engine/redis/executor/background_sync.h"

#include <chrono>
#include <exception>
#include <utility>

#include "engine/core/base/thread_name.h"

namespace rushgate {

BackgroundSync::BackgroundSync(absl::AnyInvocable<void()> sync,
                               absl::AnyInvocable<void(const absl::Status&)> report)
    : sync_(std::move(sync)), report_(std::move(report)) {}

void BackgroundSync::start() {
  thread_ = std::thread([this] { loop(); });
}

void BackgroundSync::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void BackgroundSync::note_write() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(written_, true)) return;
  }
  changed_.notify_all();
}

void BackgroundSync::loop() {
  name_this_thread("rg-sync");
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return written_ || stopping_; });
    if (!written_) return;
    // Writes within this second share the fsync.
    changed_.wait_for(lock, std::chrono::milliseconds(kEveryMs), [this] { return stopping_; });
    written_ = false;
    lock.unlock();
    sync();
    lock.lock();
  }
}

void BackgroundSync::sync() {
  try {
    sync_();
  } catch (const std::exception&) {  // out of memory: the synced position stays as it was
    report_(thrown_);
  }
}

}  // namespace rushgate
