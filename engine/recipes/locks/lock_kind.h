// What callers wait for.
#pragma once

#include <cstdint>

namespace rushgate {

/// Three kinds of ReentrantLock, the CountDownLatch, the Semaphore.
enum class LockKind : std::uint8_t { kPlain, kFenced, kFair, kLatch, kSemaphore };

}  // namespace rushgate
