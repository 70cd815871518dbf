// A byte buffer for C functions, in Lua's memory. Private to the script module.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

#include "engine/redis/script/lua.h"

namespace rushgate {

/// Safe when an error jumps out of its owner. Obeys the scripts' memory limit. Needs no destructor.
class LuaBytes {
 public:
  /// Occupies a stack slot permanently.
  explicit LuaBytes(lua_State* lua) : lua_(lua) {
    lua_pushnil(lua);
    place_ = lua_gettop(lua);
  }
  LuaBytes(const LuaBytes&) = delete;
  LuaBytes& operator=(const LuaBytes&) = delete;

  void append(char byte) {
    if (size_ == capacity_) grow(size_ + 1);
    bytes_[size_++] = byte;
  }
  void append(std::string_view bytes) {
    if (bytes.size() > capacity_ - size_) grow(size_ + bytes.size());
    std::memcpy(bytes_ + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
  }

  void clear() { size_ = 0; }

  /// Pushes the bytes as a string.
  void push() { lua_pushlstring(lua_, bytes_, size_); }

 private:
  void grow(std::size_t needed);

  lua_State* const lua_;
  int place_;  // stack slot of the memory, once the first bytes are too few
  char first_bytes_[512];
  char* bytes_ = first_bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = sizeof(first_bytes_);
};

}  // namespace rushgate
