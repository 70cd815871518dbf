#include <array>
#include <charconv>
#include <cstdint>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
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

absl::Status needs_positive_count() {
  return absl::InvalidArgumentError("the number of permits must be positive");
}

absl::StatusOr<bool> set_permits(LockCore& core, const LockWish& wish, std::int64_t count) {
  if (count < 0) return absl::InvalidArgumentError("the number of permits must not be negative");
  const auto is_set = core.run_for_number(wish, set_permits_script(), "setting permits", count);
  if (!is_set.ok()) return is_set.status();
  return *is_set == 1;
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
  const std::string permit = new_permit();
  const LockWish wish{
      .name = name_, .kind = LockKind::kSemaphore, .lease_ms = lease_ms, .permit = permit};
  const auto acquired = core_->acquire(wish, wait_ms);
  if (!acquired.ok()) {
    core_->give_back(wish);
    return acquired.status();
  }
  return *acquired ? Permit(absl::BytesToHexString(permit)) : std::nullopt;
}

void Semaphore::acquire_async(std::int64_t wait_ms, std::int64_t lease_ms, Callback done) {
  const LockWish wish{
      .name = name_, .kind = LockKind::kSemaphore, .lease_ms = lease_ms, .permit = new_permit()};
  core_->acquire_async(
      wish, wait_ms,
      [core = core_, wish, done = std::move(done)](absl::StatusOr<bool> acquired) mutable {
        if (!acquired.ok()) {
          core->give_back(wish);
          return done(acquired.status());
        }
        done(*acquired ? Permit(absl::BytesToHexString(wish.permit)) : std::nullopt);
      });
}

absl::Status Semaphore::release(const std::string& permit) {
  const std::string bytes = bytes_of_permit(permit);
  if (bytes.empty()) {
    return absl::InvalidArgumentError("the id of a permit has 32 hexadecimal digits");
  }
  const std::array<std::string_view, 2> arguments = {bytes, permit};
  const auto was_held =
      core_->run_for_number({.name = name_, .kind = LockKind::kSemaphore}, release_permit_script(),
                            "releasing a permit", arguments);
  if (!was_held.ok()) return was_held.status();
  if (*was_held == 1) return absl::OkStatus();
  return absl::FailedPreconditionError("the permit " + permit + " of " + name_ +
                                       " is not held, or its lease has ended");
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
