// The kinds of locks.
#pragma once

#include <cstdint>

namespace rushgate {

/// Five kinds of ReentrantLock (kRead and kWrite are the sides of a ReadWriteLock), the
/// CountDownLatch, the Semaphore.
enum class LockKind : std::uint8_t { kPlain, kFenced, kFair, kRead, kWrite, kLatch, kSemaphore };

}  // namespace rushgate
