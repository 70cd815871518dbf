#include <algorithm>
#include <stdexcept>
#include <utility>

#include <rushgate/locks.h>

namespace rushgate {
namespace {

constexpr std::int64_t kRoundMsPerLock = 1'500;

}  // namespace

MultiLock::MultiLock(std::vector<ReentrantLock> locks) : locks_(std::move(locks)) {}

absl::Status MultiLock::acquire(std::int64_t lease_ms) {
  const std::int64_t round_ms = kRoundMsPerLock * static_cast<std::int64_t>(locks_.size());
  while (true) {
    const auto acquired = try_acquire(round_ms, lease_ms);
    if (!acquired.ok() || *acquired) return acquired.status();
  }
}

absl::StatusOr<bool> MultiLock::try_acquire(std::int64_t wait_ms, std::int64_t lease_ms) {
  const Clock& clock = locks_.front().clock();
  const std::int64_t deadline_ms = clock.monotonic_ms() + wait_ms;
  for (std::size_t i = 0; i < locks_.size(); ++i) {
    const std::int64_t left_ms = std::max<std::int64_t>(deadline_ms - clock.monotonic_ms(), 0);
    const bool waits_for_ever = wait_ms == ReentrantLock::kForever;
    const auto acquired = locks_[i].try_acquire(waits_for_ever ? wait_ms : left_ms, lease_ms);
    if (acquired.ok() && *acquired) continue;
    static_cast<void>(release_first(i));
    return acquired;
  }
  if (lease_ms != ReentrantLock::kWatchdog) {
    for (ReentrantLock& lock : locks_) static_cast<void>(lock.set_lease(lease_ms));
  }
  if (is_held()) return true;
  static_cast<void>(release());
  return false;
}

absl::Status MultiLock::release() { return release_first(locks_.size()); }

absl::Status MultiLock::release_first(std::size_t count) {
  absl::Status first;
  for (std::size_t i = 0; i < count; ++i) first.Update(locks_[i].release());
  return first;
}

bool MultiLock::is_held() const {
  return std::all_of(locks_.begin(), locks_.end(),
                     [](const ReentrantLock& lock) { return lock.is_held(); });
}

void MultiLock::lock() {
  const absl::Status acquired = acquire();
  if (!acquired.ok()) throw std::runtime_error(acquired.ToString());
}

bool MultiLock::try_lock() {
  const auto acquired = try_acquire(0);
  if (!acquired.ok()) throw std::runtime_error(acquired.status().ToString());
  return *acquired;
}

}  // namespace rushgate
