// The interpreter's memory: counted, and limited while a script runs. Private to the script room.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace rushgate {

/// Small blocks that Lua gives back are kept for the next that asks for their size: scripts make
/// and drop the same few sizes again and again.
class LuaMemory {
 public:
  explicit LuaMemory(std::size_t bytes_max) : bytes_max_(bytes_max) {}
  ~LuaMemory();
  LuaMemory(const LuaMemory&) = delete;
  LuaMemory& operator=(const LuaMemory&) = delete;

  /// As lua_Alloc: null if there is no memory, or more than the limit would be in use.
  void* resize(void* block, std::size_t old_size, std::size_t new_size) noexcept;

  void limit() { limited_ = true; }
  /// True if something was refused since limit().
  bool lift_limit() {
    limited_ = false;
    return std::exchange(refused_, false);
  }

  /// What Lua has; blocks that are kept do not count.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// What is left of the limit.
  [[nodiscard]] std::size_t room() const { return bytes_max_ - std::min(bytes_, bytes_max_); }

 private:
  struct Kept {
    Kept* next;
  };
  static constexpr std::size_t kUnit = 16;
  static constexpr std::size_t kSmallUnitsMax = 16;
  static constexpr std::size_t kKeptBytesMax = std::size_t{1} << 20;

  static std::size_t units(std::size_t size) { return (size + kUnit - 1) / kUnit; }

  void* take(std::size_t size) noexcept;
  void give_back(void* block, std::size_t size) noexcept;
  void* move(void* block, std::size_t old_size, std::size_t new_size) noexcept;

  const std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  bool limited_ = false;
  bool refused_ = false;
  std::array<Kept*, kSmallUnitsMax + 1> kept_{};  // by their size in units
  std::size_t kept_bytes_ = 0;
};

}  // namespace rushgate
