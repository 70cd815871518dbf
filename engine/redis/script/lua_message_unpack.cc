#include "engine/redis/script/lua_message_unpack.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "engine/redis/script/lua_context.h"
#include "engine/redis/script/message_pack_format.h"

namespace rushgate {
namespace {

using namespace message_pack;

// Tables are unpacked recursively, on the C stack. (Redis goes on for as long as Lua's stack
// lasts.)
constexpr int kUnpackDepthMax = 1'000;

constexpr const char* kTooManyValues =
    "too many return values at once; use unpack_one or unpack_limit instead.";

/// Unpacks values from a string on the stack.
class Unpacker {
 public:
  Unpacker(lua_State* lua, const char* bytes, std::size_t left)
      : lua_(lua), context_(LuaContext::of(lua)), next_(bytes), left_(left) {}

  [[nodiscard]] std::size_t left() const { return left_; }

  /// Pushes the next value.
  void unpack();

 private:
  void unpack_small(std::uint8_t first);
  void unpack_text(std::size_t size) { lua_pushlstring(lua_, take(size), size); }
  void unpack_list(std::size_t length);
  void unpack_map(std::size_t length);

  /// The next bytes, which are then behind.
  const char* take(std::size_t count) {
    if (count > left_) luaL_error(lua_, "Missing bytes in input.");
    left_ -= count;
    next_ += count;
    return next_ - count;
  }
  /// The next number, its most significant byte first.
  template <class T>
  T take() {
    const char* const bytes = take(sizeof(T));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      value = value << 8 | static_cast<unsigned char>(bytes[i]);
    }
    return static_cast<T>(value);
  }
  template <class T>
  void unpack_integer() {
    lua_pushnumber(lua_, static_cast<lua_Number>(take<T>()));
  }

  /// Raises an error if it is too deep, with the reason that Redis gives.
  void enter_table(const char* reason) {
    if (++depth_ > kUnpackDepthMax) luaL_error(lua_, "stack overflow (%s)", reason);
  }
  void leave_table() { --depth_; }

  lua_State* const lua_;
  LuaContext& context_;
  const char* next_;
  std::size_t left_;
  int depth_ = 0;
};

void Unpacker::unpack() {
  context_.spend(lua_, 1);
  luaL_checkstack(lua_, 1, kTooManyValues);
  const auto first = take<std::uint8_t>();
  switch (first) {
    case kNil:
      return lua_pushnil(lua_);
    case kFalse:
    case kTrue:
      return lua_pushboolean(lua_, static_cast<int>(first == kTrue));
    case kFloat32:
      return lua_pushnumber(lua_, std::bit_cast<float>(take<std::uint32_t>()));
    case kFloat64:
      return lua_pushnumber(lua_, std::bit_cast<double>(take<std::uint64_t>()));
    case kUint8:
      return unpack_integer<std::uint8_t>();
    case kUint16:
      return unpack_integer<std::uint16_t>();
    case kUint32:
      return unpack_integer<std::uint32_t>();
    case kInt8:
      return unpack_integer<std::int8_t>();
    case kInt16:
      return unpack_integer<std::int16_t>();
    case kInt32:
      return unpack_integer<std::int32_t>();
    case kUint64:  // its upper half comes out negative in Redis
    case kInt64:
      return unpack_integer<std::int64_t>();
    case kText8:
      return unpack_text(take<std::uint8_t>());
    case kText16:
      return unpack_text(take<std::uint16_t>());
    case kText32:
      return unpack_text(take<std::uint32_t>());
    case kArray16:
      return unpack_list(take<std::uint16_t>());
    case kArray32:
      return unpack_list(take<std::uint32_t>());
    case kMap16:
      return unpack_map(take<std::uint16_t>());
    case kMap32:
      return unpack_map(take<std::uint32_t>());
    default:
      return unpack_small(first);
  }
}

void Unpacker::unpack_small(std::uint8_t first) {
  if (first <= kSmallIntegerMax || first >= static_cast<std::uint8_t>(kSmallIntegerMin)) {
    lua_pushinteger(lua_, static_cast<std::int8_t>(first));
  } else if (first < kSmallArray) {
    unpack_map(first & kSmallLengthMax);
  } else if (first < kSmallText) {
    unpack_list(first & kSmallLengthMax);
  } else if (first < kNil) {
    unpack_text(first & kSmallTextMax);
  } else {
    luaL_error(lua_, "Bad data format in input.");
  }
}

void Unpacker::unpack_list(std::size_t length) {
  constexpr const char* kReason = "in function mp_decode_to_lua_array";
  enter_table(kReason);
  lua_newtable(lua_);  // grows with the elements, regardless of the length
  luaL_checkstack(lua_, 1, kReason);
  for (std::size_t i = 1; i <= length; ++i) {
    lua_pushnumber(lua_, static_cast<lua_Number>(i));
    unpack();
    lua_rawset(lua_, -3);
  }
  leave_table();
}

void Unpacker::unpack_map(std::size_t length) {
  enter_table(kTooManyValues);
  lua_newtable(lua_);
  for (std::size_t i = 0; i < length; ++i) {
    unpack();
    unpack();
    lua_rawset(lua_, -3);
  }
  leave_table();
}

/// Returns how many values it pushed.
int unpack_up_to(lua_Integer limit, Unpacker& unpacker) {
  int count = 0;
  for (; count < limit && unpacker.left() > 0; ++count) unpacker.unpack();
  return count;
}

/// Returns the next position, or -1, and the values.
int unpack_from(lua_State* lua, lua_Integer limit, lua_Integer offset) {
  if (lua_gettop(lua) > 1) lua_settop(lua, 1);
  std::size_t size = 0;
  const char* const text = luaL_checklstring(lua, 1, &size);
  const int shown_size = static_cast<int>(size);
  const int shown_offset = static_cast<int>(offset);
  if (offset < 0 || limit < 0) {
    return luaL_error(lua, "Invalid request to unpack with offset of %d and limit of %d.",
                      shown_offset, shown_size);
  }
  if (static_cast<std::size_t>(offset) > size) {
    return luaL_error(lua, "Start offset %d greater than input length %d.", shown_offset,
                      shown_size);
  }
  if (offset == 0 && limit == 0) return unpack_messages(lua);
  Unpacker unpacker(lua, text + offset, size - static_cast<std::size_t>(offset));
  const int count = unpack_up_to(limit, unpacker);
  luaL_checkstack(lua, 1, kTooManyValues);
  const lua_Integer position = static_cast<lua_Integer>(size - unpacker.left());
  lua_pushinteger(lua, unpacker.left() == 0 ? -1 : position);
  lua_insert(lua, 2);
  return count + 1;
}

}  // namespace

int unpack_messages(lua_State* lua) {
  std::size_t size = 0;
  const char* const text = luaL_checklstring(lua, 1, &size);
  Unpacker unpacker(lua, text, size);
  return unpack_up_to(std::numeric_limits<lua_Integer>::max(), unpacker);
}

int unpack_one_message(lua_State* lua) { return unpack_from(lua, 1, luaL_optinteger(lua, 2, 0)); }

int unpack_some_messages(lua_State* lua) {
  const lua_Integer limit = luaL_checkinteger(lua, 2);
  return unpack_from(lua, limit, luaL_optinteger(lua, 3, 0));
}

}  // namespace rushgate
