#include <charconv>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "engine/recipes/locks/lock_core.h"
#include "engine/recipes/locks/semaphore_scripts.h"
#include <rushgate/locks.h>

namespace rushgate {
namespace {

constexpr std::size_t kPermitBytes = 16;

std::string new_permit() {
  std::random_device random;
  std::string bytes;
  while (bytes.size() < kPermitBytes) bytes.push_back(static_cast<char>(random() & 0xff));
  return bytes;
}

/// Returns the bytes of a permit's id; empty if it has another form.
std::string bytes_of_permit(const std::string& permit) {
  if (permit.size() != 2 * kPermitBytes) return {};
  std::string bytes;
  for (std::size_t at = 0; at < permit.size(); at += 2) {
    const char* const digits = permit.data() + at;
    std::uint8_t byte = 0;
    if (std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2) return {};
    bytes.push_back(static_cast<char>(byte));
  }
  return absl::BytesToHexString(bytes) == permit ? bytes : std::string();
}

/// Returns a wish for `count` permits.
LockWish wish_for(const std::string& name, std::int64_t count, std::int64_t lease_ms) {
  LockWish wish{.name = name, .kind = LockKind::kSemaphore, .lease_ms = lease_ms};
  for (std::int64_t i = 0; i < count; ++i) wish.permits.push_back(new_permit());
  return wish;
}

Semaphore::Permits ids_of(const LockWish& wish) {
  Semaphore::Permits ids;
  for (const std::string& permit : wish.permits) ids.push_back(absl::BytesToHexString(permit));
  return ids;
}

absl::Status check_permit_count(std::int64_t count) {
  if (count > 0 && count <= Semaphore::kPermitsMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      concat("the number of permits must be from 1 to ", Semaphore::kPermitsMax, ", not ", count));
}

/// Returns the only permit; nothing if there is none.
absl::StatusOr<Semaphore::Permit> first_of(absl::StatusOr<Semaphore::Permits> permits) {
  if (!permits.ok()) return permits.status();
  return permits->empty() ? Semaphore::Permit() : std::move(permits->front());
}

absl::Status needs_positive_count() {
  return absl::InvalidArgumentError("the number of permits must be positive");
}

absl::StatusOr<bool> set_permits(LockCore& core, const LockWish& wish, std::int64_t count) {
  if (count < 0) return absl::InvalidArgumentError("the number of permits must not be negative");
  ASSIGN_OR_RETURN(const auto is_set,
                   core.run_for_number(wish, set_permits_script(), "setting permits", count));
  return is_set == 1;
}

}  // namespace

Semaphore::Semaphore(LockManager& manager, std::string name)
    : core_(manager.core_), name_(std::move(name)) {}

absl::StatusOr<bool> Semaphore::try_set_permits(std::int64_t count) {
  return set_permits(*core_, {.name = name_, .kind = LockKind::kSemaphore}, count);
}

absl::StatusOr<std::int64_t> Semaphore::available() {
  return core_->run_for_number({.name = name_, .kind = LockKind::kSemaphore}, free_permits_script(),
                               "counting permits");
}

absl::StatusOr<Semaphore::Permit> Semaphore::acquire(std::int64_t wait_ms, std::int64_t lease_ms) {
  return first_of(acquire_many(1, wait_ms, lease_ms));
}

void Semaphore::acquire_async(std::int64_t wait_ms, std::int64_t lease_ms, Callback done) {
  acquire_many_async(1, wait_ms, lease_ms,
                     [done = std::move(done)](absl::StatusOr<Permits> permits) mutable {
                       done(first_of(std::move(permits)));
                     });
}

absl::StatusOr<Semaphore::Permits> Semaphore::acquire_many(std::int64_t count, std::int64_t wait_ms,
                                                           std::int64_t lease_ms) {
  RETURN_IF_ERROR(check_permit_count(count));
  const LockWish wish = wish_for(name_, count, lease_ms);
  const auto acquired = core_->acquire(wish, wait_ms);
  if (!acquired.ok()) {
    core_->give_back(wish);
    return acquired.status();
  }
  return *acquired ? ids_of(wish) : Permits();
}

void Semaphore::acquire_many_async(std::int64_t count, std::int64_t wait_ms, std::int64_t lease_ms,
                                   PermitsCallback done) {
  if (absl::Status checked = check_permit_count(count); !checked.ok()) return done(checked);
  const LockWish wish = wish_for(name_, count, lease_ms);
  core_->acquire_async(
      wish, wait_ms,
      [core = core_, wish, done = std::move(done)](absl::StatusOr<bool> acquired) mutable {
        if (!acquired.ok()) {
          core->give_back(wish);
          return done(acquired.status());
        }
        done(*acquired ? ids_of(wish) : Permits());
      });
}

absl::Status Semaphore::release_many(std::span<const std::string> permits) {
  const auto count = static_cast<std::int64_t>(permits.size());
  RETURN_IF_ERROR(check_permit_count(count));
  std::vector<std::string> bytes;
  bytes.reserve(permits.size());  // for the views
  std::vector<std::string_view> arguments;
  for (const std::string& permit : permits) {
    if (bytes.emplace_back(bytes_of_permit(permit)).empty()) {
      return absl::InvalidArgumentError("the id of a permit has 32 hexadecimal digits");
    }
    arguments.insert(arguments.end(), {bytes.back(), permit});
  }
  const auto released =
      core_->run_for_number({.name = name_, .kind = LockKind::kSemaphore}, release_permits_script(),
                            "releasing permits", arguments);
  if (!released.ok()) return released.status();
  if (*released == count) return absl::OkStatus();
  if (count == 1) {
    return absl::FailedPreconditionError("the permit " + permits[0] + " of " + name_ +
                                         " is not held, or its lease has ended");
  }
  return absl::FailedPreconditionError(concat(count - *released, " of ", count, " permits of ",
                                              name_, " are not held, or their leases have ended"));
}

// ---- PlainSemaphore ----

PlainSemaphore::PlainSemaphore(LockManager& manager, std::string name)
    : core_(manager.core_), name_(std::move(name)) {}

absl::StatusOr<bool> PlainSemaphore::try_set_permits(std::int64_t count) {
  return set_permits(*core_, {.name = name_, .kind = LockKind::kPlainSemaphore}, count);
}

absl::StatusOr<std::int64_t> PlainSemaphore::available() { return core_->count(name_); }

absl::StatusOr<bool> PlainSemaphore::acquire(std::int64_t count, std::int64_t wait_ms) {
  if (count <= 0) return needs_positive_count();
  return core_->acquire({.name = name_, .kind = LockKind::kPlainSemaphore, .count = count},
                        wait_ms);
}

void PlainSemaphore::acquire_async(std::int64_t count, std::int64_t wait_ms, Callback done) {
  if (count <= 0) return done(needs_positive_count());
  core_->acquire_async({.name = name_, .kind = LockKind::kPlainSemaphore, .count = count}, wait_ms,
                       std::move(done));
}

absl::Status PlainSemaphore::release(std::int64_t count) {
  if (count <= 0) return needs_positive_count();
  return core_
      ->run_for_number({.name = name_, .kind = LockKind::kPlainSemaphore}, release_count_script(),
                       "releasing permits", count)
      .status();
}

absl::StatusOr<std::int64_t> PlainSemaphore::drain() {
  return core_->run_for_number({.name = name_, .kind = LockKind::kPlainSemaphore}, drain_script(),
                               "taking all permits");
}

}  // namespace rushgate
