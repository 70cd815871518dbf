// A global operator new that fails when a test wants it to: for a test program of its own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rushgate {

/// While this lives, allocations of more than `bytes_max` fail, on every thread.
class LargeAllocationsFail {
 public:
  explicit LargeAllocationsFail(std::size_t bytes_max);
  ~LargeAllocationsFail();
  LargeAllocationsFail(const LargeAllocationsFail&) = delete;
  LargeAllocationsFail& operator=(const LargeAllocationsFail&) = delete;
};

/// While this lives, this thread's allocations fail from the one on that is preceded by `before`
/// others.
class AllocationsFailFrom {
 public:
  explicit AllocationsFailFrom(std::uint64_t before);
  ~AllocationsFailFrom();
  AllocationsFailFrom(const AllocationsFailFrom&) = delete;
  AllocationsFailFrom& operator=(const AllocationsFailFrom&) = delete;

  /// Returns true if an allocation has failed.
  [[nodiscard]] static bool has_failed();
};

}  // namespace rushgate
