// The kinds of locks.
#pragma once

#include <cstdint>

namespace rushgate {

/// Five kinds of ReentrantLock (kRead and kWrite are the sides of a ReadWriteLock), the
/// CountDownLatch, the Semaphore, the PlainSemaphore.
enum class LockKind : std::uint8_t {
  kPlain,
  kFenced,
  kFair,
  kRead,
  kWrite,
  kLatch,
  kSemaphore,
  kPlainSemaphore
};

/// Returns true for the kinds of ReentrantLock.
constexpr bool has_owner(LockKind kind) {
  switch (kind) {
    case LockKind::kPlain:
    case LockKind::kFenced:
    case LockKind::kFair:
    case LockKind::kRead:
    case LockKind::kWrite:
      return true;
    case LockKind::kLatch:
    case LockKind::kSemaphore:
    case LockKind::kPlainSemaphore:
      break;
  }
  return false;
}

}  // namespace rushgate
