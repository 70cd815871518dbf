#include "engine/redis/script/lua_bytes.h"

#include <algorithm>

#include "engine/redis/script/lua_context.h"

namespace rushgate {

void LuaBytes::grow(std::size_t needed) {
  const std::size_t capacity = std::max(needed, 2 * capacity_);
  // Lua itself collects no garbage when an allocation fails. The bytes before the last growth are
  // garbage.
  LuaContext& context = LuaContext::of(lua_);
  if (context.memory_left() < capacity) context.collect_garbage();
  auto* const bytes = static_cast<char*>(lua_newuserdata(lua_, capacity));
  std::memcpy(bytes, bytes_, size_);
  lua_replace(lua_, place_);
  bytes_ = bytes;
  capacity_ = capacity;
}

}  // namespace rushgate
