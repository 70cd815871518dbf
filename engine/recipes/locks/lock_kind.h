// What callers wait for.
#pragma once

#include <cstdint>

namespace rushgate {

/// Three kinds of ReentrantLock, and the CountDownLatch.
enum class LockKind : std::uint8_t { kPlain, kFenced, kFair, kLatch };

}  // namespace rushgate
