// Replaces the global operator new by one that fails on request. Needs a separate test program.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rushgate {

/// Makes allocations of more than `bytes_max` fail on every thread during its lifetime.
class LargeAllocationsFail {
 public:
  explicit LargeAllocationsFail(std::size_t bytes_max);
  ~LargeAllocationsFail();
  LargeAllocationsFail(const LargeAllocationsFail&) = delete;
  LargeAllocationsFail& operator=(const LargeAllocationsFail&) = delete;
};

/// Makes allocations of this thread fail during its lifetime: the one after `before` others, and
/// with kFrom all later ones too.
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
