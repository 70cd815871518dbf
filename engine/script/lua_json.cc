#include "engine/script/lua_json.h"

#include <algorithm>
#include <string_view>

#include "engine/script/lua_context.h"
#include "engine/script/lua_guarded_functions.h"
#include "engine/script/lua_sandbox.h"
#include "engine/script/script_errors.h"

namespace rushgate {
namespace {

// lua-cjson's own limit, unless a script sets another.
constexpr int kDefaultDepthMax = 1'000;

// lua-cjson counts its buffer's bytes in an int, and asks for six times what a text needs.
constexpr std::size_t kEncodedBytesMax = std::size_t{300} * 1024 * 1024;

// The key, in the registry, of the table that scripts share.
constexpr char kSharedModule = 0;

void push_shared_module(lua_State* lua) {
  lua_pushlightuserdata(lua, const_cast<char*>(&kSharedModule));
  lua_rawget(lua, LUA_REGISTRYINDEX);
}

// lua-cjson keeps its buffers outside of Lua's memory, and loses them if Lua runs out of memory in
// the middle. So either way is gone only if there is room for the result.
int refuse_unless_room(lua_State* lua, std::size_t bytes) {
  constexpr std::size_t kSlack = 1'024;
  LuaContext& context = LuaContext::of(lua);
  if (context.memory_room() < bytes + kSlack) context.collect_garbage();
  if (context.memory_room() < bytes + kSlack) return luaL_error(lua, script_errors::kOutOfMemory);
  return 0;
}

// ---- encode: a small table, nested in itself often enough, makes a text without end ----

class Measure {
 public:
  Measure(lua_State* lua, bool default_depth)
      : lua_(lua),
        context_(LuaContext::of(lua)),
        default_depth_(default_depth),
        bytes_max_(std::min(context_.limits.memory_bytes_max, kEncodedBytesMax)) {}

  /// Adds the bytes that the value on top of the stack is encoded in, at most; false once there is
  /// nothing more to find out.
  bool add(int depth);
  [[nodiscard]] bool too_large() const { return bytes_ > bytes_max_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  bool add_table(int depth);
  void add_scalar(int index);

  lua_State* const lua_;
  LuaContext& context_;
  const bool default_depth_;
  const std::size_t bytes_max_;
  std::size_t bytes_ = 0;
};

std::size_t encoded_size(unsigned char c) {
  if (c < ' ' || c == 0x7F) return 6;  // \u0000
  return c == '"' || c == '\\' || c == '/' ? 2 : 1;
}

void Measure::add_scalar(int index) {
  constexpr std::size_t kNumber = 32;  // or a word, with what stands around it
  bytes_ += kNumber;
  if (lua_type(lua_, index) != LUA_TSTRING) return;
  std::size_t size = 0;
  const char* const text = lua_tolstring(lua_, index, &size);
  for (std::size_t i = 0; i < size; ++i)
    bytes_ += encoded_size(static_cast<unsigned char>(text[i]));
}

bool Measure::add(int depth) {
  add_scalar(-1);
  if (too_large()) return false;
  return lua_istable(lua_, -1) ? add_table(depth + 1) : true;
}

bool Measure::add_table(int depth) {
  context_.spend_on_table(lua_);
  luaL_checkstack(lua_, 3, "excessive nesting");
  // Nested too deeply: encode() itself comes to the same place, and says so.
  if (default_depth_ && depth > kDefaultDepthMax) return false;
  // A guard looks empty to lua-cjson. What is behind each of them are functions.
  if (push_guarded(lua_, -1)) {
    luaL_error(lua_, "Cannot serialise function: type not supported");
  }
  lua_pushnil(lua_);
  while (lua_next(lua_, -2) != 0) {
    context_.spend(lua_, 1);
    add_scalar(-2);
    const bool goes_on = add(depth);
    lua_pop(lua_, 1);
    if (goes_on) continue;
    lua_pop(lua_, 1);
    return false;
  }
  return true;
}

int encode_measured(lua_State* lua, bool default_depth) {
  if (lua_gettop(lua) == 1) {
    if (push_guarded(lua, 1)) lua_replace(lua, 1);
    Measure measure(lua, default_depth);
    measure.add(0);
    if (measure.too_large()) return luaL_error(lua, script_errors::kOutOfMemory);
    refuse_unless_room(lua, measure.bytes());
  }
  return call_wrapped(lua);
}

/// encode of the table that scripts share.
int encode(lua_State* lua) { return encode_measured(lua, !LuaContext::of(lua).json_changed); }

/// encode of a script's own, which may be set otherwise.
int encode_of_new(lua_State* lua) { return encode_measured(lua, false); }

// ---- decode ----

int decode(lua_State* lua) {
  if (lua_type(lua, 1) == LUA_TSTRING) {
    std::size_t size = 0;
    const char* const text = lua_tolstring(lua, 1, &size);
    const auto count = [&](std::string_view chars) {
      return static_cast<std::size_t>(std::count_if(
          text, text + size, [&](char c) { return chars.find(c) != std::string_view::npos; }));
    };
    // What tables and texts occupy, at most: one a bracket, two a pair.
    constexpr std::size_t kTable = 256;
    constexpr std::size_t kValue = 128;
    refuse_unless_room(lua, 2 * size + kTable * count("[{") + kValue * count(",:"));
  }
  return call_wrapped(lua);
}

// ---- new, and settings ----

int create(lua_State* lua) {
  const int results = call_wrapped(lua);
  wrap_function(lua, "encode", &encode_of_new);
  wrap_function(lua, "decode", &decode);
  wrap_function(lua, "new", &create);
  return results;
}

int change_setting(lua_State* lua) {
  if (lua_gettop(lua) != 0) LuaContext::of(lua).json_changed = true;
  return call_wrapped(lua);
}

constexpr const char* kSettings[] = {
    "encode_sparse_array",     "encode_max_depth",   "decode_max_depth",
    "encode_number_precision", "encode_keep_buffer", "encode_invalid_numbers",
    "decode_invalid_numbers",
};

/// The module on top of the stack is to be shared.
void wrap_shared(lua_State* lua) {
  wrap_function(lua, "encode", &encode);
  wrap_function(lua, "decode", &decode);
  wrap_function(lua, "new", &create);
  for (const char* setting : kSettings) wrap_function(lua, setting, &change_setting);
}

}  // namespace

void push_json(lua_State* lua) {
  lua_pushcfunction(lua, &luaopen_cjson);
  lua_call(lua, 0, 1);
  wrap_shared(lua);
  lua_pushlightuserdata(lua, const_cast<char*>(&kSharedModule));
  lua_pushvalue(lua, -2);
  lua_rawset(lua, LUA_REGISTRYINDEX);
}

void reset_json(lua_State* lua) {
  push_shared_module(lua);
  lua_pushcfunction(lua, &luaopen_cjson);
  lua_call(lua, 0, 1);
  wrap_shared(lua);
  lua_pushnil(lua);
  while (lua_next(lua, -2) != 0) {
    lua_pushvalue(lua, -2);
    lua_insert(lua, -2);
    lua_rawset(lua, -5);
  }
  lua_pop(lua, 2);
}

}  // namespace rushgate
