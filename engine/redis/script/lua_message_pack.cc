#include "engine/redis/script/lua_message_pack.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>

#include "engine/redis/script/lua_bytes.h"
#include "engine/redis/script/lua_context.h"
#include "engine/redis/script/lua_message_unpack.h"
#include "engine/redis/script/lua_sandbox.h"
#include "engine/redis/script/message_pack_format.h"

namespace rushgate {
namespace {

using namespace message_pack;

template <class T>
constexpr bool fits(std::int64_t value) {
  return value >= std::int64_t{std::numeric_limits<T>::min()} &&
         value <= std::int64_t{std::numeric_limits<T>::max()};
}

/// The first bytes for lengths of one kind.
struct LengthBytes {
  std::uint8_t small;  // includes the length
  std::size_t small_max;
  std::uint8_t one;  // followed by a length byte; zero: not available
  std::uint8_t two;
  std::uint8_t four;
};
constexpr LengthBytes kOfText{kSmallText, kSmallTextMax, kText8, kText16, kText32};
constexpr LengthBytes kOfArray{kSmallArray, kSmallLengthMax, 0, kArray16, kArray32};
constexpr LengthBytes kOfMap{kSmallMap, kSmallLengthMax, 0, kMap16, kMap32};

// ---- Packing ----

// As in Redis, a table nested deeper is packed as nil.
constexpr int kPackDepthMax = 16;

class Packer {
 public:
  explicit Packer(lua_State* lua) : lua_(lua), bytes_(lua) {}

  /// Packs the value on top of the stack, and pops it.
  void pack(int depth);
  void push_result() { bytes_.push(); }

 private:
  void pack_number(lua_Number number);
  void pack_integer(std::int64_t integer);
  void pack_length(const LengthBytes& first, std::size_t length);
  void pack_text();
  void pack_table(int depth);
  void pack_list(std::size_t length, int depth);
  void pack_map(std::size_t length, int depth);

  /// Appends the byte, and the number with its most significant byte first.
  template <class T>
  void append(std::uint8_t first, T number) {
    char bytes[1 + sizeof(T)] = {static_cast<char>(first)};
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      bytes[sizeof(T) - i] = static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * i));
    }
    bytes_.append({bytes, sizeof(bytes)});
  }
  void append(std::uint8_t byte) { bytes_.append(static_cast<char>(byte)); }

  lua_State* const lua_;
  LuaBytes bytes_;
};

void Packer::pack(int depth) {
  switch (lua_type(lua_, -1)) {
    case LUA_TSTRING:
      pack_text();
      break;
    case LUA_TBOOLEAN:
      append(lua_toboolean(lua_, -1) != 0 ? kTrue : kFalse);
      break;
    case LUA_TNUMBER:
      pack_number(lua_tonumber(lua_, -1));
      break;
    case LUA_TTABLE:
      if (depth < kPackDepthMax) {
        pack_table(depth);
        break;
      }
      [[fallthrough]];
    default:
      append(kNil);
  }
  lua_pop(lua_, 1);
}

void Packer::pack_number(lua_Number number) {
  constexpr lua_Number kLimit = 9'223'372'036'854'775'808.0;  // 2^63
  if (number >= -kLimit && number < kLimit && number == std::trunc(number)) {
    return pack_integer(static_cast<std::int64_t>(number));
  }
  const auto single = static_cast<float>(number);
  if (static_cast<lua_Number>(single) == number) {
    append(kFloat32, std::bit_cast<std::uint32_t>(single));
  } else {
    append(kFloat64, std::bit_cast<std::uint64_t>(number));
  }
}

void Packer::pack_integer(std::int64_t integer) {
  if (integer >= kSmallIntegerMin && integer <= kSmallIntegerMax) {
    append(static_cast<std::uint8_t>(integer));
  } else if (integer >= 0) {
    if (fits<std::uint8_t>(integer)) return append(kUint8, static_cast<std::uint8_t>(integer));
    if (fits<std::uint16_t>(integer)) return append(kUint16, static_cast<std::uint16_t>(integer));
    if (fits<std::uint32_t>(integer)) return append(kUint32, static_cast<std::uint32_t>(integer));
    append(kUint64, integer);
  } else {
    if (fits<std::int8_t>(integer)) return append(kInt8, static_cast<std::int8_t>(integer));
    if (fits<std::int16_t>(integer)) return append(kInt16, static_cast<std::int16_t>(integer));
    if (fits<std::int32_t>(integer)) return append(kInt32, static_cast<std::int32_t>(integer));
    append(kInt64, integer);
  }
}

void Packer::pack_length(const LengthBytes& first, std::size_t length) {
  if (length <= first.small_max) {
    append(static_cast<std::uint8_t>(first.small | length));
  } else if (first.one != 0 && length <= std::numeric_limits<std::uint8_t>::max()) {
    append(first.one, static_cast<std::uint8_t>(length));
  } else if (length <= std::numeric_limits<std::uint16_t>::max()) {
    append(first.two, static_cast<std::uint16_t>(length));
  } else {
    append(first.four, static_cast<std::uint32_t>(length));
  }
}

void Packer::pack_text() {
  std::size_t size = 0;
  const char* const text = lua_tolstring(lua_, -1, &size);
  pack_length(kOfText, size);
  bytes_.append({text, size});
}

/// The properties of a table's keys.
struct Contents {
  std::size_t count = 0;
  bool only_positions = true;  // all keys are integers from 1 on
  lua_Number position_max = 0;

  /// Returns true if the keys are the positions from 1 on without a gap.
  [[nodiscard]] bool is_list() const {
    return only_positions && position_max == static_cast<lua_Number>(count);
  }
};

/// Examines the table on top of the stack.
Contents look_through(lua_State* lua) {
  LuaContext& context = LuaContext::of(lua);
  context.spend_on_table(lua);
  Contents contents;
  lua_pushnil(lua);
  while (lua_next(lua, -2) != 0) {
    lua_pop(lua, 1);
    context.spend(lua, 1);
    ++contents.count;
    const lua_Number key = lua_type(lua, -1) == LUA_TNUMBER ? lua_tonumber(lua, -1) : 0;
    contents.only_positions = contents.only_positions && key >= 1 && key == std::trunc(key);
    contents.position_max = std::max(contents.position_max, key);
  }
  return contents;
}

void Packer::pack_table(int depth) {
  luaL_checkstack(lua_, 4, "table nested too deeply");
  if (push_guarded(lua_, -1)) lua_replace(lua_, -2);
  const Contents contents = look_through(lua_);
  if (contents.is_list()) {
    pack_list(contents.count, depth);
  } else {
    pack_map(contents.count, depth);
  }
}

void Packer::pack_list(std::size_t length, int depth) {
  pack_length(kOfArray, length);
  for (std::size_t i = 1; i <= length; ++i) {
    lua_rawgeti(lua_, -1, static_cast<int>(i));
    pack(depth + 1);
  }
}

void Packer::pack_map(std::size_t length, int depth) {
  pack_length(kOfMap, length);
  lua_pushnil(lua_);
  while (lua_next(lua_, -2) != 0) {
    lua_pushvalue(lua_, -2);
    pack(depth + 1);
    pack(depth + 1);
  }
}

/// cmsgpack.pack(value, …)
int pack(lua_State* lua) {
  const int count = lua_gettop(lua);
  if (count == 0) return luaL_argerror(lua, 0, "MessagePack pack needs input.");
  if (lua_checkstack(lua, count) == 0) {
    return luaL_argerror(lua, 0, "Too many arguments for MessagePack pack.");
  }
  Packer packer(lua);
  for (int argument = 1; argument <= count; ++argument) {
    lua_pushvalue(lua, argument);
    packer.pack(0);
  }
  packer.push_result();
  return 1;
}

// ---- The table ----

constexpr luaL_Reg kMessagePackFunctions[] = {
    {"pack", &pack},
    {"unpack", &unpack_messages},
    {"unpack_one", &unpack_one_message},
    {"unpack_limit", &unpack_some_messages},
    {nullptr, nullptr},
};

struct NamedText {
  const char* name;
  const char* text;
};

// Of the library that scripts find under this name in Redis.
constexpr NamedText kTexts[] = {
    {"_NAME", "cmsgpack"},
    {"_VERSION", "lua-cmsgpack 0.4.0"},
    {"_COPYRIGHT", "Copyright (C) 2012, Salvatore Sanfilippo"},
    {"_DESCRIPTION", "MessagePack C implementation for Lua"},
};

}  // namespace

void push_message_pack(lua_State* lua) {
  lua_createtable(lua, 0,
                  static_cast<int>(std::size(kMessagePackFunctions) - 1 + std::size(kTexts)));
  luaL_register(lua, nullptr, kMessagePackFunctions);
  for (const NamedText& text : kTexts) {
    lua_pushstring(lua, text.text);
    lua_setfield(lua, -2, text.name);
  }
}

}  // namespace rushgate
