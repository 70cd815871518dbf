// Numbers of threads and fibers, by which a lock knows its owner.
#pragma once

#include <atomic>
#include <cstdint>

namespace rushgate {

/// Returns a number that no other call in this process returns; not 0.
inline std::uint64_t new_caller_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

/// Returns the number of the calling thread: the same in each call, and never another thread's.
inline std::uint64_t thread_number() {
  thread_local const std::uint64_t number = new_caller_number();
  return number;
}

}  // namespace rushgate
