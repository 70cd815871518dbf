#include "engine/redis/script/lua_conversion.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>

#include "engine/core/base/numbers.h"
#include "engine/redis/script/lua_errors.h"
#include "engine/redis/script/script_errors.h"

namespace rushgate {
namespace {

// ---- Reply to Lua ----

void push_text(lua_State* lua, std::string_view text) {
  lua_pushlstring(lua, text.data(), text.size());
}

/// Makes the value on top of the stack the only field of a new table.
void wrap_in_table(lua_State* lua, const char* field) {
  lua_createtable(lua, 0, 1);
  lua_insert(lua, -2);
  lua_setfield(lua, -2, field);
}

/// Other kinds fit into the stack space that Lua guarantees to C functions.
void make_stack_room(lua_State* lua) { luaL_checkstack(lua, 4, "reply nested too deeply"); }

/// In Redis, the length of a table with holes (nils, in RESP3) depends on how it was created: it
/// starts empty.
int list_room(const std::vector<Reply>& elements, int protocol) {
  const bool has_holes = protocol == 3 && std::ranges::any_of(elements, &Reply::is_nil);
  return has_holes ? 0 : static_cast<int>(elements.size());
}

void push_list(lua_State* lua, const std::vector<Reply>& elements, int protocol) {
  make_stack_room(lua);
  lua_createtable(lua, list_room(elements, protocol), 0);
  int index = 0;
  for (const Reply& element : elements) {
    push_reply(lua, element, protocol);
    lua_rawseti(lua, -2, ++index);
  }
}

void push_map(lua_State* lua, const std::vector<Reply>& keys_and_values, int protocol) {
  make_stack_room(lua);
  lua_createtable(lua, 0, static_cast<int>(keys_and_values.size() / 2));
  for (std::size_t i = 0; i + 1 < keys_and_values.size(); i += 2) {
    push_reply(lua, keys_and_values[i], protocol);
    push_reply(lua, keys_and_values[i + 1], protocol);
    lua_rawset(lua, -3);
  }
  wrap_in_table(lua, "map");
}

void push_set(lua_State* lua, const std::vector<Reply>& elements, int protocol) {
  make_stack_room(lua);
  lua_createtable(lua, 0, static_cast<int>(elements.size()));
  for (const Reply& element : elements) {
    push_reply(lua, element, protocol);
    lua_pushboolean(lua, 1);
    lua_rawset(lua, -3);
  }
  wrap_in_table(lua, "set");
}

void push_double(lua_State* lua, double value, int protocol) {
  if (protocol == 3) {
    lua_pushnumber(lua, value);
    wrap_in_table(lua, "double");
    return;
  }
  const DoubleText text(value);
  push_text(lua, text.view());
}

/// `format_and_text` is "txt:…".
void push_verbatim(lua_State* lua, std::string_view format_and_text, int protocol) {
  const std::string_view text =
      format_and_text.substr(std::min<std::size_t>(4, format_and_text.size()));
  if (protocol != 3) return push_text(lua, text);
  lua_createtable(lua, 0, 2);
  push_text(lua, format_and_text.substr(0, 3));
  lua_setfield(lua, -2, "format");
  push_text(lua, text);
  lua_setfield(lua, -2, "string");
  wrap_in_table(lua, "verbatim_string");
}

void push_nil(lua_State* lua, int protocol) {
  if (protocol == 3) {
    lua_pushnil(lua);
  } else {
    lua_pushboolean(lua, 0);
  }
}

void push_boolean(lua_State* lua, bool value, int protocol) {
  if (protocol == 3) {
    lua_pushboolean(lua, static_cast<int>(value));
  } else {
    lua_pushinteger(lua, static_cast<lua_Integer>(value));
  }
}

// ---- Lua to Reply ----

// A reply may be destroyed recursively on the small stack of a fiber. (Redis's limit is
// 8000.)
constexpr int kReplyDepthMax = 200;

// An error is counted by its first word.
constexpr std::size_t kErrorBytesKept = 64;

/// Redis casts the number; the cast gives the smallest integer for values out of range.
std::int64_t truncate(lua_Number number) {
  constexpr lua_Number kLimit = 9'223'372'036'854'775'808.0;  // 2^63
  if (number >= -kLimit && number < kLimit) return static_cast<std::int64_t>(number);
  return std::numeric_limits<std::int64_t>::min();
}

/// One conversion. Its frames hold no objects, so that an error of Lua may jump over them.
class Converter {
 public:
  Converter(lua_State* lua, int protocol, LuaResult& result)
      : lua_(lua),
        protocol_(protocol),
        bytes_left_(LuaContext::of(lua).limits.memory_bytes_max),
        result_(result) {}

  /// Converts the value on top of the stack, and leaves it there.
  void convert(Reply& reply);
  [[nodiscard]] bool too_large() const { return too_large_; }

 private:
  void convert_table(Reply& reply);
  void convert_error(Reply& reply);
  void convert_list(Reply& reply);
  void convert_map(Reply& reply);
  void convert_set(Reply& reply);
  void convert_verbatim(Reply& reply);

  /// Pushes a field of the table on top of the stack if it has this type.
  bool push_field(const char* name, int type);
  std::string_view text() const;
  void charge(std::size_t bytes);

  lua_State* const lua_;
  const int protocol_;
  int depth_ = 0;
  std::size_t bytes_left_;
  bool too_large_ = false;
  LuaResult& result_;  // its errors are counted
};

void Converter::charge(std::size_t bytes) {
  if (bytes > bytes_left_) too_large_ = true;
  bytes_left_ -= std::min(bytes, bytes_left_);
}

std::string_view Converter::text() const {
  std::size_t size = 0;
  const char* const data = lua_tolstring(lua_, -1, &size);
  return {data, size};
}

bool Converter::push_field(const char* name, int type) {
  lua_pushstring(lua_, name);
  lua_rawget(lua_, -2);
  if (lua_type(lua_, -1) == type) return true;
  lua_pop(lua_, 1);
  return false;
}

void Converter::convert(Reply& reply) {
  charge(sizeof(Reply));
  if (too_large_) return;
  const bool is_table = lua_istable(lua_, -1);
  if (depth_ == kReplyDepthMax || (is_table && lua_checkstack(lua_, 4) == 0)) {
    reply = Reply::error(result_.new_errors.emplace_back(script_errors::kReplyTooDeep));
    return;
  }
  switch (lua_type(lua_, -1)) {
    case LUA_TSTRING:
      charge(text().size());
      if (!too_large_) reply = Reply::bulk(text());
      return;
    case LUA_TBOOLEAN: {
      const bool value = lua_toboolean(lua_, -1) != 0;
      if (protocol_ == 3) {
        reply = Reply::boolean(value);
      } else {
        reply = value ? Reply::integer(1) : Reply::nil();
      }
      return;
    }
    case LUA_TNUMBER:
      reply = Reply::integer(truncate(lua_tonumber(lua_, -1)));
      return;
    case LUA_TTABLE:
      ++depth_;
      convert_table(reply);
      --depth_;
      return;
    default:
      reply = Reply::nil();
      return;
  }
}

void Converter::convert_table(Reply& reply) {
  if (push_field("err", LUA_TSTRING)) {
    convert_error(reply);
  } else if (push_field("ok", LUA_TSTRING)) {
    charge(text().size());
    if (!too_large_) reply = Reply::status(one_line(lua_tostring(lua_, -1)));
  } else if (push_field("double", LUA_TNUMBER)) {
    reply = Reply::real(lua_tonumber(lua_, -1));
  } else if (push_field("big_number", LUA_TSTRING)) {
    charge(text().size());
    if (!too_large_) reply = Reply::big_number(one_line(lua_tostring(lua_, -1)));
  } else if (push_field("verbatim_string", LUA_TTABLE)) {
    convert_verbatim(reply);
  } else if (push_field("map", LUA_TTABLE)) {
    convert_map(reply);
  } else if (push_field("set", LUA_TTABLE)) {
    convert_set(reply);
  } else {
    convert_list(reply);
    return;
  }
  lua_pop(lua_, 1);  // the field
}

/// The error's message is on top of its table.
void Converter::convert_error(Reply& reply) {
  charge(text().size());
  if (too_large_) return;
  reply = Reply::error(error_line(lua_tostring(lua_, -1)));
  lua_pushstring(lua_, kIsCounted);
  lua_rawget(lua_, -3);
  if (lua_isboolean(lua_, -1) && lua_toboolean(lua_, -1) != 0) {
    ++result_.errors_passed_on;
  } else {
    result_.new_errors.emplace_back(std::string_view(reply.text()).substr(0, kErrorBytesKept));
  }
  lua_pop(lua_, 1);
}

void Converter::convert_list(Reply& reply) {
  reply = Reply::array();
  for (int index = 1; !too_large_; ++index) {
    lua_rawgeti(lua_, -1, index);
    const bool ends = lua_isnil(lua_, -1);
    if (!ends) convert(reply.mutable_elements().emplace_back());
    lua_pop(lua_, 1);
    if (ends) return;
  }
}

void Converter::convert_map(Reply& reply) {
  reply = Reply::map();
  lua_pushnil(lua_);
  while (!too_large_ && lua_next(lua_, -2) != 0) {
    lua_pushvalue(lua_, -2);  // a copy of the key: lua_next needs the original as it is
    convert(reply.mutable_elements().emplace_back());
    lua_pop(lua_, 1);
    convert(reply.mutable_elements().emplace_back());
    lua_pop(lua_, 1);
  }
  if (too_large_) lua_pop(lua_, 1);
}

void Converter::convert_set(Reply& reply) {
  reply = Reply::set();
  lua_pushnil(lua_);
  while (!too_large_ && lua_next(lua_, -2) != 0) {
    lua_pop(lua_, 1);  // the value
    lua_pushvalue(lua_, -1);
    convert(reply.mutable_elements().emplace_back());
    lua_pop(lua_, 1);
  }
  if (too_large_) lua_pop(lua_, 1);
}

void Converter::convert_verbatim(Reply& reply) {
  constexpr std::size_t kFormatSize = 3;
  if (push_field("format", LUA_TSTRING)) {
    char format[kFormatSize] = {' ', ' ', ' '};
    const std::string_view given = text();
    std::copy_n(given.data(), std::min(given.size(), kFormatSize), format);
    lua_pop(lua_, 1);
    if (push_field("string", LUA_TSTRING)) {
      charge(text().size());
      if (!too_large_) {
        reply = Reply::verbatim(std::string(format, kFormatSize).append(1, ':').append(text()));
      }
      lua_pop(lua_, 1);
      return;
    }
  }
  lua_pop(lua_, 1);  // a map after all: the table around it is a list
  convert_list(reply);
  lua_pushnil(lua_);
}

}  // namespace

void push_reply(lua_State* lua, const Reply& reply, int protocol) {
  switch (reply.kind()) {
    case Reply::Kind::kNil:
    case Reply::Kind::kNilArray:
      return push_nil(lua, protocol);
    case Reply::Kind::kInteger:
      return lua_pushnumber(lua, static_cast<lua_Number>(reply.integer()));
    case Reply::Kind::kDouble:
      return push_double(lua, reply.real(), protocol);
    case Reply::Kind::kBoolean:
      return push_boolean(lua, reply.boolean(), protocol);
    case Reply::Kind::kStatus:
      push_text(lua, reply.text());
      return wrap_in_table(lua, "ok");
    case Reply::Kind::kBulk:
      return push_text(lua, reply.text());
    case Reply::Kind::kError:
      return push_error(lua, reply.text());
    case Reply::Kind::kBigNumber:
      push_text(lua, reply.text());
      if (protocol == 3) wrap_in_table(lua, "big_number");
      return;
    case Reply::Kind::kVerbatim:
      return push_verbatim(lua, reply.text(), protocol);
    case Reply::Kind::kArray:
    case Reply::Kind::kPush:
    case Reply::Kind::kSeveral:
      return push_list(lua, reply.elements(), protocol);
    case Reply::Kind::kMap:
      if (protocol == 3) return push_map(lua, reply.elements(), protocol);
      return push_list(lua, reply.elements(), protocol);
    case Reply::Kind::kSet:
      if (protocol == 3) return push_set(lua, reply.elements(), protocol);
      return push_list(lua, reply.elements(), protocol);
  }
}

void to_result(lua_State* lua, int protocol, LuaResult& result) {
  result.new_errors.clear();
  result.errors_passed_on = 0;
  Converter converter(lua, protocol, result);
  converter.convert(result.reply);
  if (converter.too_large()) set_error(result, script_errors::kReplyTooLarge, false);
}

void set_error(LuaResult& result, const std::string& text, bool is_counted) {
  result.reply = Reply::error(text);
  result.new_errors.clear();
  result.errors_passed_on = is_counted ? 1 : 0;
  if (!is_counted) result.new_errors.push_back(text);
}

std::string_view write_number(lua_Number number, NumberText& text) {
  constexpr lua_Number kLimit = 1e16;  // "%.17g" writes these without an exponent
  if (std::fabs(number) < kLimit && number == std::trunc(number) &&
      !(number == 0 && std::signbit(number))) {
    const DecimalText decimal(static_cast<std::int64_t>(number));
    return {text.data(), decimal.view().copy(text.data(), text.size())};
  }
  const int size = std::snprintf(text.data(), text.size(), "%.17g", number);
  return {text.data(), static_cast<std::size_t>(size)};
}

std::string one_line(std::string_view text) {
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\r' || c == '\n'; }, ' ');
  return line;
}

std::string error_line(std::string_view text) {
  while (text.ends_with('\r') || text.ends_with('\n')) text.remove_suffix(1);
  return one_line(text);
}

}  // namespace rushgate
