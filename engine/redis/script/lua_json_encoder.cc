#include "engine/redis/script/lua_json_encoder.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string_view>

#include "engine/redis/script/lua_bytes.h"
#include "engine/redis/script/lua_context.h"
#include "engine/redis/script/lua_sandbox.h"

namespace rushgate {
namespace {

/// Returns the letter behind the backslash, 'u' for four hexadecimal digits, or 0 for a byte that
/// stands for itself.
constexpr char escape_of(unsigned char byte) {
  constexpr unsigned char kDelete = 0x7F;
  switch (byte) {
    case '"':
    case '\\':
    case '/':
      return static_cast<char>(byte);
    case '\b':
      return 'b';
    case '\t':
      return 't';
    case '\n':
      return 'n';
    case '\f':
      return 'f';
    case '\r':
      return 'r';
    default:
      return byte < ' ' || byte == kDelete ? 'u' : '\0';
  }
}

constexpr std::array<char, 256> kEscapes = [] {
  std::array<char, 256> escapes{};
  for (std::size_t i = 0; i < escapes.size(); ++i) {
    escapes[i] = escape_of(static_cast<unsigned char>(i));
  }
  return escapes;
}();

/// Works on the value on top of the stack, and leaves it there.
class Encoder {
 public:
  Encoder(lua_State* lua, const JsonSettings& settings)
      : lua_(lua), context_(LuaContext::of(lua)), settings_(settings), text_(lua) {}

  /// Appends the value's JSON.
  void encode(int depth);
  void push_text() { text_.push(); }

 private:
  void append_string(int index);
  void append_escaped(char byte);
  void append_number(int index);
  void append_table(int depth);
  void append_array(int size, int depth);
  void append_object(int depth);
  /// Returns the last position if the table becomes an array; otherwise 0 or less.
  int array_size();
  void raise(int index, const char* reason) {
    luaL_error(lua_, "Cannot serialise %s: %s", luaL_typename(lua_, index), reason);
  }

  lua_State* const lua_;
  LuaContext& context_;
  const JsonSettings& settings_;
  LuaBytes text_;
};

void Encoder::encode(int depth) {
  switch (lua_type(lua_, -1)) {
    case LUA_TSTRING:
      return append_string(-1);
    case LUA_TNUMBER:
      return append_number(-1);
    case LUA_TBOOLEAN:
      return text_.append(lua_toboolean(lua_, -1) != 0 ? std::string_view("true") : "false");
    case LUA_TTABLE:
      return append_table(depth + 1);
    case LUA_TNIL:
      return text_.append("null");
    case LUA_TLIGHTUSERDATA:
      if (lua_touserdata(lua_, -1) == nullptr) return text_.append("null");
      [[fallthrough]];
    default:
      raise(-1, "type not supported");
  }
}

// ---- Strings and numbers ----

void Encoder::append_string(int index) {
  std::size_t size = 0;
  const char* const bytes = lua_tolstring(lua_, index, &size);
  context_.spend_on_bytes(lua_, size);
  text_.append('"');
  std::size_t begin = 0;  // the part not appended yet
  for (std::size_t i = 0; i < size; ++i) {
    if (kEscapes[static_cast<unsigned char>(bytes[i])] == '\0') continue;
    text_.append(std::string_view(bytes + begin, i - begin));
    append_escaped(bytes[i]);
    begin = i + 1;
  }
  text_.append(std::string_view(bytes + begin, size - begin));
  text_.append('"');
}

void Encoder::append_escaped(char byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  constexpr unsigned kBase = 16;
  const auto code = static_cast<unsigned char>(byte);
  const char escape = kEscapes[code];
  text_.append('\\');
  text_.append(escape);
  if (escape != 'u') return;
  text_.append("00");
  text_.append(kDigits[code / kBase]);
  text_.append(kDigits[code % kBase]);
}

void Encoder::append_number(int index) {
  using Invalid = JsonSettings::InvalidNumbers;
  const lua_Number number = lua_tonumber(lua_, index);
  if (!std::isfinite(number) && settings_.invalid_numbers != Invalid::kWrite) {
    if (settings_.invalid_numbers == Invalid::kNull) return text_.append("null");
    raise(index, "must not be NaN or Inf");
  }
  if (std::isnan(number)) return text_.append("nan");

  constexpr lua_Number kExact =
      1e14;  // integers below have no more digits than the usual precision
  const bool is_usual = settings_.number_precision == JsonSettings{}.number_precision;
  std::array<char, 32> text;
  char* const end = text.data() + text.size();
  std::to_chars_result result{};
  if (is_usual && std::abs(number) < kExact && number == std::trunc(number) &&
      (number != 0 || !std::signbit(number))) {
    result = std::to_chars(text.data(), end, static_cast<std::int64_t>(number));
  } else {
    // As printf's %g, independent of the locale.
    result = std::to_chars(text.data(), end, number, std::chars_format::general,
                           settings_.number_precision);
  }
  text_.append(std::string_view(text.data(), static_cast<std::size_t>(result.ptr - text.data())));
}

// ---- Tables ----

void Encoder::append_table(int depth) {
  constexpr int kStackNeeded = 3;
  if (depth > settings_.max_depth || lua_checkstack(lua_, kStackNeeded) == 0) {
    luaL_error(lua_, "Cannot serialise, excessive nesting (%d)", depth);
  }
  // A guard looks empty. The tables behind guards hold functions.
  if (push_guarded(lua_, -1)) {
    luaL_error(lua_, "Cannot serialise function: type not supported");
  }
  const int size = array_size();
  if (size > 0) {
    append_array(size, depth);
  } else {
    append_object(depth);
  }
}

int Encoder::array_size() {
  int last = 0;
  int count = 0;
  context_.spend_on_table(lua_);
  lua_pushnil(lua_);
  while (lua_next(lua_, -2) != 0) {
    context_.spend(lua_, 1);
    lua_pop(lua_, 1);
    const lua_Number key = lua_type(lua_, -1) == LUA_TNUMBER ? lua_tonumber(lua_, -1) : 0;
    if (key < 1 || key != std::floor(key)) {
      lua_pop(lua_, 1);
      return -1;
    }
    // Beyond an int lua-cjson does as the processor does: the table is no array.
    if (key > last) {
      last = key <= std::numeric_limits<int>::max() ? static_cast<int>(key)
                                                    : std::numeric_limits<int>::min();
    }
    ++count;
  }
  const int ratio = settings_.sparse_array_ratio;
  if (ratio > 0 && last > std::int64_t{count} * ratio && last > settings_.sparse_array_safe) {
    if (!settings_.sparse_array_convert) raise(-1, "excessively sparse array");
    return -1;
  }
  return last;
}

void Encoder::append_array(int size, int depth) {
  text_.append('[');
  for (int i = 1; i <= size; ++i) {
    context_.spend(lua_, 1);
    if (i > 1) text_.append(',');
    lua_rawgeti(lua_, -1, i);
    encode(depth);
    lua_pop(lua_, 1);
    if (i == std::numeric_limits<int>::max()) break;
  }
  text_.append(']');
}

void Encoder::append_object(int depth) {
  text_.append('{');
  bool is_first = true;
  lua_pushnil(lua_);
  while (lua_next(lua_, -2) != 0) {
    context_.spend(lua_, 1);
    if (!is_first) text_.append(',');
    is_first = false;
    switch (lua_type(lua_, -2)) {
      case LUA_TSTRING:
        append_string(-2);
        break;
      case LUA_TNUMBER:
        text_.append('"');
        append_number(-2);
        text_.append('"');
        break;
      default:
        raise(-2, "table key must be a number or string");
    }
    text_.append(':');
    encode(depth);
    lua_pop(lua_, 1);
  }
  text_.append('}');
}

}  // namespace

void encode_json(lua_State* lua, const JsonSettings& settings) {
  Encoder encoder(lua, settings);
  lua_pushvalue(lua, -2);
  encoder.encode(0);
  encoder.push_text();
}

}  // namespace rushgate
