// The interpreter's memory: counted, and limited while a script runs. Private to the script module.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace rushgate {

/// Keeps freed small blocks for the next allocation of their size, because scripts use a few sizes
/// again and again.
class LuaMemory {
 public:
  /// The minimum size of a large block; a power of two.
  static constexpr std::size_t kLargeBytes = std::size_t{64} * 1024;

  explicit LuaMemory(std::size_t bytes_max) : bytes_max_(bytes_max) {}
  ~LuaMemory();
  LuaMemory(const LuaMemory&) = delete;
  LuaMemory& operator=(const LuaMemory&) = delete;

  /// Returns true if a block of one of these sizes is large.
  static bool concerns_large_block(std::size_t old_size, std::size_t new_size) {
    return (old_size | new_size) >= kLargeBytes;
  }

  /// As lua_Alloc. Returns null if there is no memory, or the limit would be exceeded.
  void* resize(void* block, std::size_t old_size, std::size_t new_size) noexcept;

  void limit() { limited_ = true; }
  /// Returns true if an allocation was refused since limit().
  bool lift_limit() {
    limited_ = false;
    return std::exchange(refused_, false);
  }

  /// Counts memory outside of Lua. Returns false, and counts nothing, if the limit would be
  /// exceeded.
  bool charge(std::size_t bytes) noexcept {
    if (limited_ && bytes > room()) return false;
    bytes_ += bytes;
    return true;
  }
  void discharge(std::size_t bytes) noexcept { bytes_ -= bytes; }

  /// Returns Lua's memory without the freed blocks that are kept.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// Returns the bytes of all large blocks, an upper bound on the size of a string or table.
  [[nodiscard]] std::size_t large_bytes() const { return large_bytes_; }
  /// Returns the rest of the limit.
  [[nodiscard]] std::size_t room() const { return bytes_max_ - std::min(bytes_, bytes_max_); }

 private:
  struct Kept {
    Kept* next;
  };
  static constexpr std::size_t kUnit = 16;
  static constexpr std::size_t kSmallUnitsMax = 16;
  static constexpr std::size_t kKeptBytesMax = std::size_t{1} << 20;

  static std::size_t units(std::size_t size) { return (size + kUnit - 1) / kUnit; }

  void count(std::size_t old_size, std::size_t new_size) noexcept {
    bytes_ += new_size - old_size;
    if (!concerns_large_block(old_size, new_size)) return;
    if (new_size >= kLargeBytes) large_bytes_ += new_size;
    if (old_size >= kLargeBytes) large_bytes_ -= old_size;
  }

  void* take(std::size_t size) noexcept;
  void give_back(void* block, std::size_t size) noexcept;
  void* move(void* block, std::size_t old_size, std::size_t new_size) noexcept;

  const std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::size_t large_bytes_ = 0;
  bool limited_ = false;
  bool refused_ = false;
  std::array<Kept*, kSmallUnitsMax + 1> kept_{};  // by size in units
  std::size_t kept_bytes_ = 0;
};

}  // namespace rushgate
