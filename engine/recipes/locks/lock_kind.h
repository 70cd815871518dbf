// The kinds of ReentrantLock.
#pragma once

#include <cstdint>

namespace rushgate {

enum class LockKind : std::uint8_t { kPlain, kFenced, kFair };

}  // namespace rushgate
