// Numbers of threads and fibers. Locks identify their owners by them.
#pragma once

#include <atomic>
#include <cstdint>

namespace rushgate {

/// Returns a number other than 0 that is unique in this process.
inline std::uint64_t new_caller_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

/// Returns the number of the calling thread: always the same, and unique among threads.
inline std::uint64_t thread_number() {
  thread_local const std::uint64_t kNumber = new_caller_number();
  return kNumber;
}

}  // namespace rushgate
