#include "engine/recipes/locks/reentrant_lock.h"

#include <future>
#include <optional>
#include <stdexcept>
#include <utility>

#include "engine/recipes/locks/lock_core.h"

namespace rushgate {
namespace {

/// Suspends the caller until `begin` has called what it is given.
absl::StatusOr<bool> wait_for(const WaitMethod* method,
                              absl::FunctionRef<void(LockCore::Callback)> begin) {
  if (method == nullptr) {
    std::promise<absl::StatusOr<bool>> result;
    begin([&](absl::StatusOr<bool> acquired) { result.set_value(std::move(acquired)); });
    return result.get_future().get();
  }
  absl::StatusOr<bool> result = false;
  method->wait([&](WaitMethod::Event& done) {
    begin([&](absl::StatusOr<bool> acquired) {
      result = std::move(acquired);
      done.happen();
    });
  });
  return result;
}

std::optional<std::int64_t> deadline_of(LockCore& core, std::int64_t wait_ms) {
  if (wait_ms < 0) return std::nullopt;
  return core.backend().clock().monotonic_ms() + wait_ms;
}

/// How long an owner stays in the queue of a fair lock, unless it renews its place.
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

std::uint64_t ReentrantLock::owner() const { return core_->caller(); }

absl::Status ReentrantLock::acquire(std::int64_t lease_ms) {
  return try_acquire(kForever, lease_ms).status();
}

absl::StatusOr<bool> ReentrantLock::try_acquire(std::int64_t wait_ms, std::int64_t lease_ms) {
  LockWish wish{.name = name_,
                .kind = kind_,
                .owner = owner(),
                .lease_ms = lease_ms,
                .queue_ms = queue_ms_of(wait_ms)};
  const auto deadline_ms = deadline_of(*core_, wait_ms);
  const auto first = core_->attempt(wish);
  if (!first.ok()) return first.status();
  if (first->is_acquired || wait_ms == 0) return first->is_acquired;
  return wait_for(core_->options().client.wait, [&](LockCore::Callback done) {
    core_->wait(std::move(wish), deadline_ms, std::move(done));
  });
}

void ReentrantLock::acquire_async(std::uint64_t owner, std::int64_t wait_ms, std::int64_t lease_ms,
                                  Callback done) {
  const LockWish wish{.name = name_,
                      .kind = kind_,
                      .owner = owner,
                      .lease_ms = lease_ms,
                      .queue_ms = queue_ms_of(wait_ms)};
  const auto deadline_ms = deadline_of(*core_, wait_ms);
  core_->attempt_async(wish, [core = core_, wish, wait_ms, deadline_ms, done = std::move(done)](
                                 absl::StatusOr<LockCore::Attempt> first) mutable {
    if (!first.ok()) return done(first.status());
    if (first->is_acquired || wait_ms == 0) return done(first->is_acquired);
    core->wait(wish, deadline_ms, std::move(done));
  });
}

absl::Status ReentrantLock::release_of(std::uint64_t owner) {
  return core_->release(name_, kind_, owner);
}

absl::Status ReentrantLock::set_lease(std::int64_t lease_ms) {
  if (lease_ms <= 0) return absl::InvalidArgumentError("lease_ms must be positive");
  return core_->set_lease(name_, owner(), lease_ms);
}

bool ReentrantLock::is_held_by(std::uint64_t owner) const {
  return !core_->is_closed() && core_->leases().is_held(name_, owner);
}

std::int64_t ReentrantLock::token_of(std::uint64_t owner) const {
  return core_->leases().token(name_, owner);
}

const Clock& ReentrantLock::clock() const { return core_->backend().clock(); }

bool ReentrantLock::must(const absl::StatusOr<bool>& acquired) {
  if (!acquired.ok()) throw std::runtime_error(acquired.status().ToString());
  return *acquired;
}

void ReentrantLock::lock() { must(try_acquire(kForever)); }

bool ReentrantLock::try_lock() { return must(try_acquire(0)); }

}  // namespace rushgate
