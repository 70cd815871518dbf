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

/// While this lives, this thread's allocations fail: the one that is preceded by `before` others,
/// and those after it or not.
class AllocationsFail {
 public:
  enum class How : std::uint8_t { kFrom, kOnce };

  AllocationsFail(How how, std::uint64_t before);
  ~AllocationsFail();
  AllocationsFail(const AllocationsFail&) = delete;
  AllocationsFail& operator=(const AllocationsFail&) = delete;

  /// Returns true if an allocation has failed.
  [[nodiscard]] static bool has_failed();
};

}  // namespace rushgate
