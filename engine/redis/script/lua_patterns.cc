#include "engine/redis/script/lua_patterns.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "absl/strings/ascii.h"
#include "engine/redis/script/lua_context.h"
#include "engine/redis/script/lua_pattern_matcher.h"

namespace rushgate {
namespace {

std::string_view check_text(lua_State* lua, int index) {
  std::size_t size = 0;
  const char* const text = luaL_checklstring(lua, index, &size);
  return {text, size};
}

/// Removes the anchor of a pattern. Returns true if the match must begin at the search's begin.
bool take_anchor(const char*& pattern) {
  const bool is_anchored = *pattern == '^';
  if (is_anchored) ++pattern;
  return is_anchored;
}

// ---- find, match ----

/// Where the search begins: counted from 1, or from the end.
std::size_t search_begin(lua_State* lua, std::size_t size) {
  const lua_Integer given = luaL_optinteger(lua, 3, 1);
  const lua_Integer begin = given < 0 ? given + static_cast<lua_Integer>(size) : given - 1;
  return std::min(static_cast<std::size_t>(std::max<lua_Integer>(begin, 0)), size);
}

bool has_specials(const char* pattern) { return std::strpbrk(pattern, "^$*+?.([%-") != nullptr; }

/// find(string, pattern, begin, plain) for a plain string.
int find_plain(lua_State* lua, std::string_view text, std::string_view wanted, std::size_t begin) {
  LuaContext::of(lua).spend_on_bytes(lua, text.size() - begin);
  const char* found = text.data() + begin;  // an empty string is found everywhere
  if (!wanted.empty()) {
    found = static_cast<const char*>(
        memmem(text.data() + begin, text.size() - begin, wanted.data(), wanted.size()));
  }
  if (found == nullptr) {
    lua_pushnil(lua);
    return 1;
  }
  const lua_Integer before = found - text.data();
  lua_pushinteger(lua, before + 1);
  lua_pushinteger(lua, before + static_cast<lua_Integer>(wanted.size()));
  return 2;
}

/// Calls `push`, which pushes the results, for the first match at or after `begin`.
template <class Push>
int search(lua_State* lua, std::string_view text, const char* pattern, std::size_t begin,
           Push push) {
  const bool is_anchored = take_anchor(pattern);
  LuaPatternMatcher matcher(lua, text, pattern);
  const char* at = text.data() + begin;
  do {
    if (const char* const end = matcher.match(at)) return push(matcher, at, end);
  } while (!is_anchored && at++ < matcher.subject_end());
  lua_pushnil(lua);
  return 1;
}

int find(lua_State* lua) {
  const std::string_view text = check_text(lua, 1);
  const std::string_view pattern = check_text(lua, 2);
  const std::size_t begin = search_begin(lua, text.size());
  if (lua_toboolean(lua, 4) != 0 || !has_specials(pattern.data())) {
    return find_plain(lua, text, pattern, begin);
  }
  return search(lua, text, pattern.data(), begin,
                [lua](LuaPatternMatcher& matcher, const char* at, const char* end) {
                  lua_pushinteger(lua, at - matcher.subject() + 1);
                  lua_pushinteger(lua, end - matcher.subject());
                  return matcher.push_captures() + 2;
                });
}

int match(lua_State* lua) {
  const std::string_view text = check_text(lua, 1);
  const char* const pattern = check_text(lua, 2).data();
  return search(lua, text, pattern, search_begin(lua, text.size()),
                [](LuaPatternMatcher& matcher, const char* at, const char* end) {
                  return matcher.push_captures_or_match(at, end);
                });
}

// ---- gmatch ----

/// The iterator. Upvalues: the string, the pattern, the next position.
int next_match(lua_State* lua) {
  std::size_t size = 0;
  const char* const text = lua_tolstring(lua, lua_upvalueindex(1), &size);
  LuaPatternMatcher matcher(lua, {text, size}, lua_tostring(lua, lua_upvalueindex(2)));
  for (const char* at = text + lua_tointeger(lua, lua_upvalueindex(3)); at <= text + size; ++at) {
    const char* const end = matcher.match(at);
    if (end == nullptr) continue;
    lua_pushinteger(lua, end - text + (end == at ? 1 : 0));  // an empty match is not found again
    lua_replace(lua, lua_upvalueindex(3));
    return matcher.push_captures_or_match(at, end);
  }
  return 0;
}

int gmatch(lua_State* lua) {
  check_text(lua, 1);
  check_text(lua, 2);
  lua_settop(lua, 2);
  lua_pushinteger(lua, 0);
  lua_pushcclosure(lua, &next_match, 3);
  return 1;
}

// ---- gsub ----

/// The replacement of a match in gsub(): a string, or the result of a table or function.
class Replacement {
 public:
  /// It is the function's third argument.
  explicit Replacement(lua_State* lua) : lua_(lua), type_(lua_type(lua, 3)) {
    const bool is_usable = type_ == LUA_TNUMBER || type_ == LUA_TSTRING || type_ == LUA_TFUNCTION ||
                           type_ == LUA_TTABLE;
    luaL_argcheck(lua, is_usable, 3, "string/function/table expected");
  }

  void add_to(luaL_Buffer& made, LuaPatternMatcher& matcher, const char* begin,
              const char* end) const {
    if (type_ == LUA_TTABLE) {
      matcher.push_capture(0, begin, end);
      lua_gettable(lua_, 3);
    } else if (type_ == LUA_TFUNCTION) {
      lua_pushvalue(lua_, 3);
      const int captures = matcher.push_captures_or_match(begin, end);
      lua_call(lua_, captures, 1);
    } else {
      return add_text(made, matcher, begin, end);
    }
    if (lua_toboolean(lua_, -1) == 0) {
      lua_pop(lua_, 1);
      lua_pushlstring(lua_, begin, static_cast<std::size_t>(end - begin));  // stays as it is
    } else if (lua_isstring(lua_, -1) == 0) {
      luaL_error(lua_, "invalid replacement value (a %s)", luaL_typename(lua_, -1));
    }
    luaL_addvalue(&made);
  }

 private:
  /// %0 to %9 in it are captures; % before any other character means that character. (At the end,
  /// that is the terminating zero byte.)
  void add_text(luaL_Buffer& made, LuaPatternMatcher& matcher, const char* begin,
                const char* end) const {
    std::size_t size = 0;
    const char* const text = lua_tolstring(lua_, 3, &size);
    LuaContext& context = LuaContext::of(lua_);
    for (std::size_t i = 0; i < size; ++i) {
      context.spend(lua_, 1);
      if (text[i] != '%') {
        luaL_addchar(&made, text[i]);
        continue;
      }
      const char escaped = text[++i];
      if (!absl::ascii_isdigit(static_cast<unsigned char>(escaped))) {
        luaL_addchar(&made, escaped);
      } else if (escaped == '0') {
        luaL_addlstring(&made, begin, static_cast<std::size_t>(end - begin));
      } else {
        matcher.push_capture(static_cast<std::size_t>(escaped - '1'), begin, end);
        luaL_addvalue(&made);
      }
    }
  }

  lua_State* const lua_;
  const int type_;
};

/// gsub(string, pattern, replacement, maximum number)
int gsub(lua_State* lua) {
  const std::string_view text = check_text(lua, 1);
  const char* pattern = check_text(lua, 2).data();
  const int most = luaL_optint(lua, 4, static_cast<int>(text.size() + 1));
  const Replacement replacement(lua);
  const bool is_anchored = take_anchor(pattern);
  LuaPatternMatcher matcher(lua, text, pattern);
  luaL_Buffer made;
  luaL_buffinit(lua, &made);
  int count = 0;
  const char* at = text.data();
  while (count < most) {
    const char* const end = matcher.match(at);
    if (end != nullptr) {
      ++count;
      replacement.add_to(made, matcher, at, end);
    }
    if (end != nullptr && end != at) {
      at = end;
    } else if (at < matcher.subject_end()) {
      luaL_addchar(&made, *at++);
    } else {
      break;
    }
    if (is_anchored) break;
  }
  luaL_addlstring(&made, at, static_cast<std::size_t>(matcher.subject_end() - at));
  luaL_pushresult(&made);
  lua_pushinteger(lua, count);
  return 2;
}

constexpr luaL_Reg kPatternFunctions[] = {
    {"find", &find}, {"match", &match}, {"gmatch", &gmatch}, {"gsub", &gsub}, {nullptr, nullptr},
};

}  // namespace

void install_pattern_functions(lua_State* lua) {
  luaL_register(lua, nullptr, kPatternFunctions);
  lua_getfield(lua, -1, "gmatch");
  lua_setfield(lua, -2, "gfind");  // its name in Lua 5.0
}

}  // namespace rushgate
