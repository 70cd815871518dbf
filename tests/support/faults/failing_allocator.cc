#include "tests/support/faults/failing_allocator.h"

#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

namespace rushgate {
namespace {

constexpr std::size_t kNoBound = std::numeric_limits<std::size_t>::max();
constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

std::atomic<std::size_t> large_bytes{kNoBound};

// Constant-initialised, because operator new may run before other code of a thread.
thread_local constinit std::uint64_t allocations_left = kNever;
thread_local constinit bool has_allocation_failed = false;
thread_local constinit bool fails_once = false;

bool is_to_fail(std::size_t bytes) {
  if (bytes > large_bytes.load(std::memory_order_relaxed)) return true;
  if (allocations_left == kNever) return false;
  if (allocations_left == 0) {
    if (fails_once && has_allocation_failed) return false;
    has_allocation_failed = true;
    return true;
  }
  --allocations_left;
  return false;
}

}  // namespace

LargeAllocationsFail::LargeAllocationsFail(std::size_t bytes_max) { large_bytes = bytes_max; }
LargeAllocationsFail::~LargeAllocationsFail() { large_bytes = kNoBound; }

AllocationsFail::AllocationsFail(How how, std::uint64_t before) {
  has_allocation_failed = false;
  fails_once = how == How::kOnce;
  allocations_left = before;
}
AllocationsFail::~AllocationsFail() { allocations_left = kNever; }

bool AllocationsFail::has_failed() { return has_allocation_failed; }

}  // namespace rushgate

void* operator new(std::size_t bytes) {
  void* const memory = rushgate::is_to_fail(bytes) ? nullptr : std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  return rushgate::is_to_fail(bytes) ? nullptr : std::malloc(bytes);
}

// If GCC inlined these, it would warn that memory of operator new is freed by free().
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);
}
