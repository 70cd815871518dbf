// Matches a pattern of Lua 5.1. Unlike Debian's, which has the same semantics, it looks now and
// then whether the script is to be killed, and takes a bounded part of the stack. Private to the
// script room.
// Semantics: https://www.lua.org/manual/5.1/manual.html#5.4.1
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/script/lua.h"
#include "engine/script/lua_context.h"

namespace rushgate {

/// Raises Lua's errors where the matching comes upon what is wrong in the pattern, and that of an
/// interruption. Subject and pattern stay Lua's: both end with a zero byte, and so does the pattern
/// at its first one.
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

  /// Where the match that begins at `begin` ends; null if there is none.
  const char* match(const char* begin);

  // ---- What the last match captured ----

  /// Pushes capture `index`, counted from 0; if there is none at all, 0 is the match itself.
  void push_capture(std::size_t index, const char* begin, const char* end);
  /// Pushes all of them; without any, the match itself. How many.
  int push_captures_or_match(const char* begin, const char* end);
  /// Pushes all of them. How many.
  int push_captures();

 private:
  static constexpr std::size_t kCapturesMax = LUA_MAXCAPTURES;

  enum class CaptureKind : std::uint8_t { kOpen, kPosition, kText };
  struct Capture {
    const char* begin;
    std::size_t size;  // of kText
    CaptureKind kind;
  };
  /// What one character is compared with: a character, a class, a set, or any.
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

  /// %b and what follows it, %f, %1: where the subject goes on, or null. Moves `item` behind
  /// itself.
  const char* match_special(const char* at, const char*& item);
  const char* match_balanced(const char* at, const char* delimiters);
  const char* match_frontier(const char* at, const char*& item);
  const char* match_captured(const char* at, char digit);

  [[nodiscard]] Single single_at(const char* item);
  [[nodiscard]] bool fits(const char* at, const Single& single);
  [[nodiscard]] bool fits_set(char c, const Single& set);

  /// So many characters were looked at.
  void spend(std::size_t characters) { context_.spend(lua_, characters); }
  int fail(const char* error) { return luaL_error(lua_, "%s", error); }

  lua_State* const lua_;
  LuaContext& context_;
  const char* const subject_;
  const char* const subject_end_;
  const char* const pattern_;
  std::size_t depth_ = 0;
  std::size_t capture_count_ = 0;
  std::array<Capture, kCapturesMax> captures_;  // the first capture_count_
};

}  // namespace rushgate
