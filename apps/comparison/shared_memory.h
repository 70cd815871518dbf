// Counters that several processes share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rushgate::comparison {

/// Owns a mapping. Throws std::system_error if the memory is unavailable.
class SharedMemory {
 public:
  /// Allocates `counts` counters, all zero. Child processes inherit the descriptor.
  explicit SharedMemory(std::size_t counts);
  /// Maps memory that the parent process has allocated.
  SharedMemory(int inherited_fd, std::size_t counts);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] std::span<std::atomic<std::uint32_t>> counts() const { return counts_; }

 private:
  const int fd_;
  std::span<std::atomic<std::uint32_t>> counts_;
};

}  // namespace rushgate::comparison
