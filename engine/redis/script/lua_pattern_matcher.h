// Matches patterns of Lua 5.1. Unlike Debian's matcher, which has the same
// semantics, it is interruptible and uses a bounded part of the stack. Private
// to the script module. Semantics:
// https://www.lua.org/manual/5.1/manual.html#5.4.1
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/redis/script/lua.h"
#include "engine/redis/script/lua_context.h"

namespace rushgate {

/// Raises Lua's errors at an invalid part of the pattern, and the error of an interruption. Subject
/// and pattern are Lua strings and end with a zero byte; the pattern also ends at its first zero
/// byte.
class LuaPatternMatcher {
 public:
  LuaPatternMatcher(lua_State* lua, std::string_view subject, const char* pattern)
      : lua_(lua),
        context_(LuaContext::of(lua)),
        subject_(subject.data()),
        subject_end_(subject.data() + subject.size()),
        pattern_(pattern) {}

  [[nodiscard]] const char* subject() const { return subject_; }
  [[nodiscard]] const char* subject_end() const { return subject_end_; }

  /// Returns the end of the match that begins at `begin`; null if there is none.
  const char* match(const char* begin);

  // ---- The captures of the last match ----

  /// Pushes capture `index`, counted from 0. Without captures, 0 is the whole match.
  void push_capture(std::size_t index, const char* begin, const char* end);
  /// Pushes all captures; without any, the whole match. Returns their number.
  int push_captures_or_match(const char* begin, const char* end);
  /// Pushes all captures. Returns their number.
  int push_captures();

 private:
  static constexpr std::size_t kCapturesMax = LUA_MAXCAPTURES;

  enum class CaptureKind : std::uint8_t { kOpen, kPosition, kText };
  struct Capture {
    const char* begin;
    std::size_t size;  // of kText
    CaptureKind kind;
  };
  /// A single-character element of a pattern: a character, a class, a set, or any.
  struct Single {
    const char* begin;
    const char* end;
  };

  const char* match_rest(const char* at, const char* item);
  const char* match_items(const char* at, const char* item);
  const char* match_most(const char* at, const Single& single);
  const char* match_least(const char* at, const Single& single);
  const char* open_capture(const char* at, const char* rest, CaptureKind kind);
  const char* close_capture(const char* at, const char* rest);

  /// Matches %b, %f or %1. Returns the next position in the subject, or null. Moves `item` past the
  /// element.
  const char* match_special(const char* at, const char*& item);
  const char* match_balanced(const char* at, const char* delimiters);
  const char* match_frontier(const char* at, const char*& item);
  const char* match_captured(const char* at, char digit);

  [[nodiscard]] Single single_at(const char* item);
  [[nodiscard]] bool fits(const char* at, const Single& single);
  [[nodiscard]] bool fits_set(char c, const Single& set);

  /// Accounts for examined characters.
  void spend(std::size_t characters) { context_.spend(lua_, characters); }
  int fail(const char* error) { return luaL_error(lua_, "%s", error); }

  lua_State* const lua_;
  LuaContext& context_;
  const char* const subject_;
  const char* const subject_end_;
  const char* const pattern_;
  std::size_t depth_ = 0;
  std::size_t capture_count_ = 0;
  std::array<Capture, kCapturesMax> captures_;  // the first capture_count_ are valid
};

}  // namespace rushgate
