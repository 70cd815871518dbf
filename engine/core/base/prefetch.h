// Prefetching memory.
#pragma once

#include <cstddef>

namespace rushgate {

/// Loads the cache line of the byte at `at`. The processor does not wait for the load, and runs
/// several at once. It is a load, because a prefetch instruction is dropped if the page misses the
/// TLB.
inline void prefetch(const void* at) {
  static_cast<void>(*static_cast<const volatile std::byte*>(at));
}

}  // namespace rushgate
