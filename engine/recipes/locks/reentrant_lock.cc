#include <stdexcept>
#include <utility>

#include "engine/recipes/locks/lock_core.h"
#include <rushgate/locks.h>

namespace rushgate {
namespace {

/// Returns how long an owner stays in the queue of a fair lock, unless it renews its place.
std::int64_t queue_ms_of(std::int64_t wait_ms) {
  constexpr std::int64_t kQueueMs = 300'000;
  return wait_ms < 0 ? kQueueMs : wait_ms;
}

}  // namespace

ReentrantLock::ReentrantLock(LockManager& manager, std::string name, LockOptions options)
    : ReentrantLock(manager, std::move(name),
                    options.is_fenced ? LockKind::kFenced : LockKind::kPlain) {}

ReentrantLock::ReentrantLock(LockManager& manager, std::string name, LockKind kind)
    : core_(manager.core_), name_(std::move(name)), kind_(kind) {}

FairLock::FairLock(LockManager& manager, std::string name)
    : ReentrantLock(manager, std::move(name), LockKind::kFair) {}

ReadWriteLock::ReadWriteLock(LockManager& manager, std::string name)
    : read_(manager, name, LockKind::kRead), write_(manager, std::move(name), LockKind::kWrite) {}

std::uint64_t ReentrantLock::owner() const { return core_->caller(); }

LockHold ReentrantLock::hold_of(std::uint64_t owner) const {
  return {.name = name_, .kind = kind_, .owner = owner};
}

absl::Status ReentrantLock::acquire(std::int64_t lease_ms) {
  return try_acquire(kForever, lease_ms).status();
}

absl::StatusOr<bool> ReentrantLock::try_acquire(std::int64_t wait_ms, std::int64_t lease_ms) {
  return core_->acquire({.name = name_,
                         .kind = kind_,
                         .owner = owner(),
                         .lease_ms = lease_ms,
                         .queue_ms = queue_ms_of(wait_ms)},
                        wait_ms);
}

void ReentrantLock::acquire_async(std::uint64_t owner, std::int64_t wait_ms, std::int64_t lease_ms,
                                  Callback done) {
  core_->acquire_async({.name = name_,
                        .kind = kind_,
                        .owner = owner,
                        .lease_ms = lease_ms,
                        .queue_ms = queue_ms_of(wait_ms)},
                       wait_ms, std::move(done));
}

absl::Status ReentrantLock::release_of(std::uint64_t owner) {
  return core_->release(hold_of(owner));
}

absl::Status ReentrantLock::set_lease(std::int64_t lease_ms) {
  if (lease_ms <= 0) return absl::InvalidArgumentError("lease_ms must be positive");
  return core_->set_lease(hold_of(owner()), lease_ms);
}

absl::StatusOr<LockState> ReentrantLock::state_of(std::uint64_t owner) {
  return core_->state(hold_of(owner));
}

absl::StatusOr<bool> ReentrantLock::force_release() { return core_->force_release(hold_of(0)); }

bool ReentrantLock::is_held_by(std::uint64_t owner) const {
  return !core_->is_closed() && core_->leases().is_held(hold_of(owner));
}

std::int64_t ReentrantLock::token_of(std::uint64_t owner) const {
  return core_->leases().token(hold_of(owner));
}

const Clock& ReentrantLock::clock() const { return core_->clock(); }

bool ReentrantLock::must(const absl::StatusOr<bool>& acquired) {
  if (!acquired.ok()) throw std::runtime_error(acquired.status().ToString());
  return *acquired;
}

void ReentrantLock::lock() { must(try_acquire(kForever)); }

bool ReentrantLock::try_lock() { return must(try_acquire(0)); }

}  // namespace rushgate
