#include <algorithm>
#include <utility>

#include "engine/core/client/reply_status.h"
#include "engine/recipes/locks/client_identity.h"
#include "engine/recipes/locks/simple_unlock.lua.h"
#include <rushgate/locks.h>
#include <rushgate/script.h>

namespace rushgate {
namespace {

const Script& unlock_script() {
  static const Script kScript(lua::kSimpleUnlock);
  return kScript;
}

}  // namespace

SimpleLock::SimpleLock(Backend& backend, std::string name, SimpleLockOptions options)
    : clock_(backend.clock()),
      options_(std::move(options)),
      key_(options_.key_prefix + name),
      owner_prefix_(random_uuid() + ':'),
      client_(backend.open_client(options_.client)) {}

SimpleLock::~SimpleLock() {
  if (expires_in_ms() > 0) static_cast<void>(release());
}

/// Draws a new owner each time, so that a late release cannot end the next lease.
absl::StatusOr<bool> SimpleLock::acquire() {
  if (options_.lease_ms <= 0) return absl::InvalidArgumentError("lease_ms must be positive");
  std::string owner;
  {
    const std::lock_guard lock(mutex_);
    owner = owner_prefix_ + std::to_string(++acquisitions_);
  }
  const std::int64_t sent_at_ms = clock_.monotonic_ms();
  const Reply set = (*client_)("SET", key_, owner, "NX", "PX", options_.lease_ms);
  if (set.is_nil()) return false;
  if (set != Reply::ok()) return to_status(set, "locking");
  const std::lock_guard lock(mutex_);
  owner_ = std::move(owner);
  expires_at_ms_ = sent_at_ms + options_.lease_ms;
  return true;
}

absl::Status SimpleLock::release() {
  std::string owner;
  {
    const std::lock_guard lock(mutex_);
    owner.swap(owner_);
    expires_at_ms_ = 0;
  }
  const std::string_view key = key_;
  const std::string_view argument = owner;
  if (owner.empty()) return absl::FailedPreconditionError("the lock " + key_ + " is not held");
  const Reply deleted = client_->run(unlock_script(), {&key, 1}, {&argument, 1});
  if (!deleted.is_integer()) return to_status(deleted, "unlocking");
  if (deleted.integer() == 1) return absl::OkStatus();
  return absl::FailedPreconditionError("the lock " + key_ + " expired before it was released");
}

std::int64_t SimpleLock::expires_in_ms() const {
  const std::lock_guard lock(mutex_);
  return std::max<std::int64_t>(expires_at_ms_ - clock_.monotonic_ms(), 0);
}

}  // namespace rushgate
