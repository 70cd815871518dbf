#include "engine/redis/executor/store_recovery.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "engine/core/base/thread_name.h"

namespace rushgate {
namespace {

// The first attempt comes kFirstWaitMs after the failure. Each wait is twice the one before, up to
// kWaitMsMax. A long attempt, which wrote much, is followed by a pause of kPauseFactor times its
// length, up to kPauseMsMax.
constexpr std::int64_t kFirstWaitMs = 10;
constexpr std::int64_t kWaitMsMax = 100;
constexpr std::int64_t kPauseFactor = 20;
constexpr std::int64_t kPauseMsMax = 5'000;

bool is_final(const absl::Status& reopened) {
  return absl::IsDataLoss(reopened) || absl::IsUnimplemented(reopened);
}

}  // namespace

StoreRecovery::StoreRecovery(StoreGuard& store, const Clock& clock, bool is_manual,
                             RunInTurn run_in_turn, std::function<void()> ended)
    : store_(store),
      clock_(clock),
      is_manual_(is_manual),
      run_in_turn_(std::move(run_in_turn)),
      ended_(std::move(ended)),
      due_ms_(ServiceThread::kNever) {
  store_.on_failure([this] {
    { const std::lock_guard lock(mutex_); }  // the thread is waiting, or has not looked yet
    changed_.notify_all();
  });
}

void StoreRecovery::start() {
  if (!is_manual_ && store_.can_recover()) thread_ = std::thread([this] { loop(); });
}

void StoreRecovery::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  const std::lock_guard lock(joining_);  // a second caller waits, too, until the thread has ended
  if (thread_.joinable()) thread_.join();
}

void StoreRecovery::loop() {
  name_this_thread("rg-recovery");
  std::int64_t wait_ms = kFirstWaitMs;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || store_.is_recovering(); });
    const auto wait = std::chrono::milliseconds(wait_ms);
    if (changed_.wait_for(lock, wait, [this] { return stopping_; })) return;
    lock.unlock();
    const std::int64_t began_ms = clock_.monotonic_ms();
    attempt();
    wait_ms = next_wait_ms(clock_.monotonic_ms() - began_ms);
    lock.lock();
  }
}

/// Returns the wait before the next attempt; after a success, before the first one of a later
/// failure.
std::int64_t StoreRecovery::next_wait_ms(std::int64_t took_ms) {
  if (!store_.is_recovering()) attempts_ = 0;
  const std::int64_t wait_ms = std::min(kFirstWaitMs << std::min(attempts_, 10), kWaitMsMax);
  return attempts_ == 0 ? wait_ms : std::clamp(kPauseFactor * took_ms, wait_ms, kPauseMsMax);
}

void StoreRecovery::attempt() {
  ++attempts_;
  const absl::Status reopened = reopen();
  if (!reopened.ok() && !is_final(reopened)) return;
  run_in_turn_([&] {
    try {
      if (reopened.ok()) {
        store_.recover();
      } else {
        store_.give_up(reopened);
      }
      ended_();
    } catch (const std::bad_alloc&) {
      // Only for the message: writes are refused with the earlier one.
    }
  });
}

absl::Status StoreRecovery::reopen() {
  try {
    return store_.reopen(run_in_turn_);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("");  // tried again, so that it is never read
  }
}

std::int64_t StoreRecovery::due_ms() {
  if (!store_.is_recovering()) return due_ms_ = ServiceThread::kNever;
  if (due_ms_ == ServiceThread::kNever) due_ms_ = clock_.monotonic_ms() + kFirstWaitMs;
  return due_ms_;
}

void StoreRecovery::run_if_due(std::int64_t monotonic_ms) {
  if (due_ms() > monotonic_ms) return;
  attempt();
  due_ms_ = store_.is_recovering() ? monotonic_ms + next_wait_ms(0) : ServiceThread::kNever;
}

}  // namespace rushgate
