#include "engine/redis/script/lua_json_decoder.h"

#include <strings.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "engine/redis/script/lua_bytes.h"
#include "engine/redis/script/lua_context.h"

namespace rushgate {
namespace {

enum class Token : std::uint8_t {
  kObjectBegin,
  kObjectEnd,
  kArrayBegin,
  kArrayEnd,
  kString,
  kNumber,
  kBoolean,
  kNull,
  kColon,
  kComma,
  kEnd,
  kError,
};

/// Returns the token's name in errors.
const char* name_of(Token token) {
  switch (token) {
    case Token::kObjectBegin:
      return "T_OBJ_BEGIN";
    case Token::kObjectEnd:
      return "T_OBJ_END";
    case Token::kArrayBegin:
      return "T_ARR_BEGIN";
    case Token::kArrayEnd:
      return "T_ARR_END";
    case Token::kString:
      return "T_STRING";
    case Token::kNumber:
      return "T_NUMBER";
    case Token::kBoolean:
      return "T_BOOLEAN";
    case Token::kNull:
      return "T_NULL";
    case Token::kColon:
      return "T_COLON";
    case Token::kComma:
      return "T_COMMA";
    case Token::kEnd:
      return "T_END";
    case Token::kError:
      break;
  }
  return "T_ERROR";
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Returns the character of an escape letter, or 0 if there is no such escape.
char unescaped(char letter) {
  switch (letter) {
    case '"':
    case '\\':
    case '/':
      return letter;
    case 'b':
      return '\b';
    case 't':
      return '\t';
    case 'n':
      return '\n';
    case 'f':
      return '\f';
    case 'r':
      return '\r';
    default:
      return '\0';
  }
}

/// Returns the value of four hexadecimal digits, or -1.
int hexadecimal(const char* digits) {
  constexpr int kDigits = 4;
  constexpr int kBase = 16;
  unsigned value = 0;
  const auto read = std::from_chars(digits, digits + kDigits, value, kBase);
  return read.ptr == digits + kDigits ? static_cast<int>(value) : -1;
}

/// Parses without recursion, so nesting uses only Lua's stack. It holds a table for each open
/// array, and a table and the key of the next value for each open object. The input ends with a
/// zero byte, as all of Lua's strings.
class Decoder {
 public:
  Decoder(lua_State* lua, const JsonDecodeSettings& settings, const char* text)
      : lua_(lua),
        context_(LuaContext::of(lua)),
        settings_(settings),
        text_(text),
        at_(text),
        string_(lua) {}

  /// Pushes the value.
  void decode();

 private:
  void open_container();
  void close_container();
  void store();
  void push_scalar();
  void read_key();

  /// Reads token_. Pushes a string.
  void next();
  void next_word();
  void next_string();
  void next_number();
  void next_is(Token token, std::size_t size) {
    token_ = token;
    at_ += size;
  }
  void next_is_error(const char* problem) {
    token_ = Token::kError;
    token_at_ = at_;
    problem_ = problem;
  }
  bool append_escape();
  bool append_unicode();
  [[nodiscard]] bool is_next(std::string_view word) const;
  [[nodiscard]] bool is_invalid_number() const;
  void raise_expected(const char* expected);

  lua_State* const lua_;
  LuaContext& context_;
  const JsonDecodeSettings& settings_;
  const char* const text_;
  const char* at_;
  LuaBytes string_;  // with its escapes replaced

  Token token_ = Token::kEnd;
  const char* token_at_ = nullptr;
  const char* problem_ = nullptr;  // of Token::kError
  lua_Number number_ = 0;
  bool boolean_ = false;

  // ---- The innermost container, if depth_ is not 0 ----
  int depth_ = 0;
  bool is_object_ = false;
  int elements_ = 0;  // of an array
};

void Decoder::decode() {
  next();
  while (true) {
    if (token_ == Token::kObjectBegin || token_ == Token::kArrayBegin) {
      open_container();
      next();
      if (token_ != (is_object_ ? Token::kObjectEnd : Token::kArrayEnd)) {
        if (is_object_) read_key();
        continue;
      }
      close_container();
    } else {
      push_scalar();
    }
    // The top of the stack is a complete value. Its containers may be complete with it.
    while (depth_ > 0) {
      store();
      next();
      if (token_ == Token::kComma) break;
      if (token_ != (is_object_ ? Token::kObjectEnd : Token::kArrayEnd)) {
        raise_expected(is_object_ ? "comma or object end" : "comma or array end");
      }
      close_container();
    }
    next();
    if (depth_ == 0) break;
    if (is_object_) read_key();
  }
  if (token_ != Token::kEnd) raise_expected("the end");
}

// ---- Values ----

void Decoder::open_container() {
  is_object_ = token_ == Token::kObjectBegin;
  elements_ = 0;
  ++depth_;
  const int slots = is_object_ ? 3 : 2;
  if (depth_ > settings_.max_depth || lua_checkstack(lua_, slots) == 0) {
    luaL_error(lua_, "Found too many nested data structures (%d) at character %d", depth_,
               static_cast<int>(at_ - text_));
  }
  lua_newtable(lua_);
}

/// The complete table stays on top of the stack. The container around it becomes the innermost.
void Decoder::close_container() {
  if (--depth_ == 0) return;
  is_object_ = lua_type(lua_, -2) == LUA_TSTRING;  // a key
  if (!is_object_) elements_ = static_cast<int>(lua_objlen(lua_, -2));
}

void Decoder::store() {
  if (is_object_) {
    lua_rawset(lua_, -3);
  } else {
    lua_rawseti(lua_, -2, ++elements_);
  }
}

void Decoder::push_scalar() {
  switch (token_) {
    case Token::kString:
      return;
    case Token::kNumber:
      return lua_pushnumber(lua_, number_);
    case Token::kBoolean:
      return lua_pushboolean(lua_, static_cast<int>(boolean_));
    case Token::kNull:
      return lua_pushlightuserdata(lua_, nullptr);
    default:
      raise_expected("value");
  }
}

void Decoder::read_key() {
  if (token_ != Token::kString) raise_expected("object key string");
  next();
  if (token_ != Token::kColon) raise_expected("colon");
  next();
}

void Decoder::raise_expected(const char* expected) {
  const char* const found = token_ == Token::kError ? problem_ : name_of(token_);
  luaL_error(lua_, "Expected %s but found %s at character %d", expected, found,
             static_cast<int>(token_at_ - text_) + 1);
}

// ---- Tokens ----

void Decoder::next() {
  const char* const begin = at_;
  while (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r') ++at_;
  context_.spend(lua_, 1);
  context_.spend_on_bytes(lua_, static_cast<std::size_t>(at_ - begin));
  token_at_ = at_;
  switch (*at_) {
    case '{':
      return next_is(Token::kObjectBegin, 1);
    case '}':
      return next_is(Token::kObjectEnd, 1);
    case '[':
      return next_is(Token::kArrayBegin, 1);
    case ']':
      return next_is(Token::kArrayEnd, 1);
    case ',':
      return next_is(Token::kComma, 1);
    case ':':
      return next_is(Token::kColon, 1);
    case '\0':
      return next_is(Token::kEnd, 0);
    case '"':
      return next_string();
    default:
      return next_word();
  }
}

void Decoder::next_word() {
  constexpr std::string_view kTrue = "true";
  constexpr std::string_view kFalse = "false";
  constexpr std::string_view kNull = "null";
  if (*at_ == '-' || is_digit(*at_)) {
    if (!settings_.invalid_numbers && is_invalid_number()) return next_is_error("invalid number");
    return next_number();
  }
  boolean_ = is_next(kTrue);
  if (boolean_) return next_is(Token::kBoolean, kTrue.size());
  if (is_next(kFalse)) return next_is(Token::kBoolean, kFalse.size());
  if (is_next(kNull)) return next_is(Token::kNull, kNull.size());
  if (settings_.invalid_numbers && is_invalid_number()) return next_number();
  next_is_error("invalid token");
}

bool Decoder::is_next(std::string_view word) const {
  return ::strncmp(at_, word.data(), word.size()) == 0;
}

// ---- Numbers ----

/// Follows lua-cjson; other invalid numbers are found when they are parsed.
bool Decoder::is_invalid_number() const {
  const char* at = at_;
  if (*at == '+') return true;
  if (*at == '-') ++at;
  if (*at == '0') return at[1] == 'x' || at[1] == 'X' || is_digit(at[1]);
  if (*at <= '9') return false;
  return ::strncasecmp(at, "inf", 3) == 0 || ::strncasecmp(at, "nan", 3) == 0;
}

void Decoder::next_number() {
  token_ = Token::kNumber;
  const char* const digits = *at_ == '-' ? at_ + 1 : at_;
  const bool is_hexadecimal = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
  const char* end = at_;
  std::errc problem = std::errc::invalid_argument;
  if (is_digit(*digits) && !is_hexadecimal) {  // independent of the locale
    while (is_digit(*end) || *end == '-' || *end == '+' || *end == '.' || *end == 'e' ||
           *end == 'E') {
      ++end;
    }
    const auto read = std::from_chars(at_, end, number_);
    end = read.ptr;
    problem = read.ec;
  }
  if (problem != std::errc()) {  // too large or too small, or of another form
    char* end_of_it = nullptr;
    number_ = std::strtod(at_, &end_of_it);
    end = end_of_it;
  }
  if (end == at_) return next_is_error("invalid number");
  context_.spend_on_bytes(lua_, static_cast<std::size_t>(end - at_));
  at_ = end;
}

// ---- Strings ----

void Decoder::next_string() {
  const char* begin = ++at_;  // the part not copied yet
  bool has_escapes = false;
  while (true) {
    while (*at_ != '"' && *at_ != '\\' && *at_ != '\0') ++at_;
    context_.spend_on_bytes(lua_, static_cast<std::size_t>(at_ - begin));
    const std::string_view plain(begin, static_cast<std::size_t>(at_ - begin));
    if (*at_ == '\0') return next_is_error("unexpected end of string");
    if (*at_ == '"' && !has_escapes) {
      lua_pushlstring(lua_, plain.data(), plain.size());
      break;
    }
    if (!has_escapes) string_.clear();
    has_escapes = true;
    string_.append(plain);
    if (*at_ == '"') {
      string_.push();
      break;
    }
    if (at_[1] == 'u') {
      if (!append_unicode()) return next_is_error("invalid unicode escape code");
    } else if (!append_escape()) {
      return next_is_error("invalid escape code");
    }
    begin = at_;
  }
  next_is(Token::kString, 1);
}

bool Decoder::append_escape() {
  const char byte = unescaped(at_[1]);
  if (byte == '\0') return false;
  string_.append(byte);
  at_ += 2;
  return true;
}

/// Appends the character of `\uXXXX`, or of two of them that are a surrogate pair, in UTF-8.
bool Decoder::append_unicode() {
  constexpr std::size_t kEscapeSize = 6;
  int code = hexadecimal(at_ + 2);
  if (code < 0) return false;
  std::size_t size = kEscapeSize;
  if ((code & 0xF800) == 0xD800) {  // a surrogate
    if ((code & 0x400) != 0) return false;
    const char* const second = at_ + kEscapeSize;
    if (second[0] != '\\' || second[1] != 'u') return false;
    const int low = hexadecimal(second + 2);
    if (low < 0 || (low & 0xFC00) != 0xDC00) return false;
    code = (((code & 0x3FF) << 10) | (low & 0x3FF)) + 0x10000;
    size = 2 * kEscapeSize;
  }
  const auto append = [this](int byte) { string_.append(static_cast<char>(byte)); };
  const auto append_six_bits = [&](int shift) { append(0x80 | ((code >> shift) & 0x3F)); };
  if (code <= 0x7F) {
    append(code);
  } else if (code <= 0x7FF) {
    append(0xC0 | (code >> 6));
    append_six_bits(0);
  } else if (code <= 0xFFFF) {
    append(0xE0 | (code >> 12));
    append_six_bits(6);
    append_six_bits(0);
  } else {
    append(0xF0 | (code >> 18));
    append_six_bits(12);
    append_six_bits(6);
    append_six_bits(0);
  }
  at_ += size;
  return true;
}

}  // namespace

void decode_json(lua_State* lua, const JsonDecodeSettings& settings) {
  std::size_t size = 0;
  const char* const text = lua_tolstring(lua, 1, &size);
  // The first character of JSON is one of ASCII.
  if (size >= 2 && (text[0] == '\0' || text[1] == '\0')) {
    luaL_error(lua, "JSON parser does not support UTF-16 or UTF-32");
  }
  // Lua itself collects no garbage when an allocation fails.
  constexpr std::size_t kValueBytesAByte = 16;
  LuaContext& context = LuaContext::of(lua);
  if (context.memory_left() < kValueBytesAByte * size) context.collect_garbage();
  Decoder(lua, settings, text).decode();
}

}  // namespace rushgate
