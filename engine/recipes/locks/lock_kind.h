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
  return kind != LockKind::kLatch && kind != LockKind::kSemaphore &&
         kind != LockKind::kPlainSemaphore;
}

}  // namespace rushgate
