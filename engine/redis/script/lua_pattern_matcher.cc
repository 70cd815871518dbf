#include "engine/redis/script/lua_pattern_matcher.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "engine/redis/script/script_errors.h"

namespace rushgate {
namespace {

constexpr char kEscape = '%';

// Each level takes two or three frames of the stack, some 300 bytes.
constexpr std::size_t kMatchDepthMax = 2'000;

/// Is `c` of the class that the letter behind a % names? Any other character stands for itself.
bool is_in_class(char c, char letter) {
  const auto byte = static_cast<unsigned char>(c);
  bool is_in = false;
  switch (absl::ascii_tolower(static_cast<unsigned char>(letter))) {
    case 'a':
      is_in = absl::ascii_isalpha(byte);
      break;
    case 'c':
      is_in = absl::ascii_iscntrl(byte);
      break;
    case 'd':
      is_in = absl::ascii_isdigit(byte);
      break;
    case 'l':
      is_in = absl::ascii_islower(byte);
      break;
    case 'p':
      is_in = absl::ascii_ispunct(byte);
      break;
    case 's':
      is_in = absl::ascii_isspace(byte);
      break;
    case 'u':
      is_in = absl::ascii_isupper(byte);
      break;
    case 'w':
      is_in = absl::ascii_isalnum(byte);
      break;
    case 'x':
      is_in = absl::ascii_isxdigit(byte);
      break;
    case 'z':
      is_in = c == '\0';
      break;
    default:
      return c == letter;
  }
  return is_in != absl::ascii_isupper(static_cast<unsigned char>(letter));
}

bool is_in_range(char c, char first, char last) {
  const auto byte = static_cast<unsigned char>(c);
  return static_cast<unsigned char>(first) <= byte && byte <= static_cast<unsigned char>(last);
}

}  // namespace

const char* LuaPatternMatcher::match(const char* begin) {
  spend(1);
  capture_count_ = 0;
  depth_ = 0;
  return match_rest(begin, pattern_);
}

/// Matches the rest, which is tried again elsewhere if it fails.
const char* LuaPatternMatcher::match_rest(const char* at, const char* item) {
  if (++depth_ > kMatchDepthMax) fail(script_errors::kPatternTooComplex);
  const char* const end = match_items(at, item);
  --depth_;
  return end;
}

const char* LuaPatternMatcher::match_items(const char* at, const char* item) {
  while (*item != '\0') {
    spend(1);
    if (*item == '(') {
      return item[1] == ')' ? open_capture(at, item + 2, CaptureKind::kPosition)
                            : open_capture(at, item + 1, CaptureKind::kOpen);
    }
    if (*item == ')') return close_capture(at, item + 1);
    if (*item == '$' && item[1] == '\0') return at == subject_end_ ? at : nullptr;
    const bool is_special =
        *item == kEscape && (item[1] == 'b' || item[1] == 'f' ||
                             absl::ascii_isdigit(static_cast<unsigned char>(item[1])));
    if (is_special) {
      at = match_special(at, item);
      if (at == nullptr) return nullptr;
      continue;
    }
    const Single single = single_at(item);
    switch (*single.end) {
      case '*':
        return match_most(at, single);
      case '+':
        return fits(at, single) ? match_most(at + 1, single) : nullptr;
      case '-':
        return match_least(at, single);
      case '?':
        if (fits(at, single)) {
          if (const char* const end = match_rest(at + 1, single.end + 1)) return end;
        }
        item = single.end + 1;
        break;
      default:
        if (!fits(at, single)) return nullptr;
        ++at;
        item = single.end;
        break;
    }
  }
  return at;
}

// ---- Quantifiers ----

/// As many as possible, then fewer.
const char* LuaPatternMatcher::match_most(const char* at, const Single& single) {
  const char* next = at;
  while (fits(next, single)) ++next;
  for (;; --next) {
    if (const char* const end = match_rest(next, single.end + 1)) return end;
    if (next == at) return nullptr;
  }
}

/// As few as possible, then more.
const char* LuaPatternMatcher::match_least(const char* at, const Single& single) {
  while (true) {
    if (const char* const end = match_rest(at, single.end + 1)) return end;
    if (!fits(at, single)) return nullptr;
    ++at;
  }
}

// ---- Captures ----

const char* LuaPatternMatcher::open_capture(const char* at, const char* rest, CaptureKind kind) {
  if (capture_count_ == kCapturesMax) fail("too many captures");
  captures_[capture_count_++] = {at, 0, kind};
  const char* const end = match_rest(at, rest);
  if (end == nullptr) --capture_count_;
  return end;
}

/// The innermost that is open.
const char* LuaPatternMatcher::close_capture(const char* at, const char* rest) {
  const auto begin = std::reverse_iterator(captures_.begin() + capture_count_);
  const auto innermost = std::find_if(begin, captures_.rend(), [](const Capture& capture) {
    return capture.kind == CaptureKind::kOpen;
  });
  if (innermost == captures_.rend()) fail("invalid pattern capture");
  Capture& capture = *innermost;
  capture.size = static_cast<std::size_t>(at - capture.begin);
  capture.kind = CaptureKind::kText;
  const char* const end = match_rest(at, rest);
  if (end == nullptr) capture.kind = CaptureKind::kOpen;
  return end;
}

void LuaPatternMatcher::push_capture(std::size_t index, const char* begin, const char* end) {
  if (index >= capture_count_) {
    if (index != 0) fail("invalid capture index");
    lua_pushlstring(lua_, begin, static_cast<std::size_t>(end - begin));
    return;
  }
  const Capture& capture = captures_[index];
  switch (capture.kind) {
    case CaptureKind::kOpen:
      fail("unfinished capture");
      break;
    case CaptureKind::kPosition:
      lua_pushinteger(lua_, capture.begin - subject_ + 1);
      break;
    case CaptureKind::kText:
      lua_pushlstring(lua_, capture.begin, capture.size);
      break;
  }
}

int LuaPatternMatcher::push_captures_or_match(const char* begin, const char* end) {
  if (capture_count_ > 0) return push_captures();
  push_capture(0, begin, end);
  return 1;
}

int LuaPatternMatcher::push_captures() {
  const auto count = static_cast<int>(capture_count_);
  luaL_checkstack(lua_, count, "too many captures");
  for (std::size_t i = 0; i < capture_count_; ++i) push_capture(i, nullptr, nullptr);
  return count;
}

// ---- %b, %f, %1 ----

const char* LuaPatternMatcher::match_special(const char* at, const char*& item) {
  const char kind = item[1];
  item += 2;
  if (kind == 'f') return match_frontier(at, item);
  if (kind != 'b') return match_captured(at, kind);
  if (item[0] == '\0' || item[1] == '\0') fail("unbalanced pattern");
  item += 2;
  return match_balanced(at, item - 2);
}

const char* LuaPatternMatcher::match_balanced(const char* at, const char* delimiters) {
  const char open = delimiters[0];
  const char close = delimiters[1];
  if (at == subject_end_ || *at != open) return nullptr;
  std::size_t depth = 1;
  for (++at; at < subject_end_; ++at) {
    spend(1);
    if (*at == close) {
      if (--depth == 0) return at + 1;
    } else if (*at == open) {
      ++depth;
    }
  }
  return nullptr;
}

/// Between a character that is not in the set and one that is. Before and behind the subject there
/// is a zero.
const char* LuaPatternMatcher::match_frontier(const char* at, const char*& item) {
  if (*item != '[') fail("missing '[' after '%f' in pattern");
  const Single set = single_at(item);
  item = set.end;
  const char before = at == subject_ ? '\0' : at[-1];
  const char behind = at == subject_end_ ? '\0' : *at;
  return !fits_set(before, set) && fits_set(behind, set) ? at : nullptr;
}

const char* LuaPatternMatcher::match_captured(const char* at, char digit) {
  const auto index = static_cast<std::size_t>(digit - '1');  // great for 0
  if (index >= capture_count_ || captures_[index].kind == CaptureKind::kOpen) {
    fail("invalid capture index");
  }
  const Capture& capture = captures_[index];
  const auto left = static_cast<std::size_t>(subject_end_ - at);
  if (capture.kind == CaptureKind::kPosition || capture.size > left) return nullptr;
  spend(capture.size);
  return std::equal(at, at + capture.size, capture.begin) ? at + capture.size : nullptr;
}

// ---- One character ----

LuaPatternMatcher::Single LuaPatternMatcher::single_at(const char* item) {
  const char* end = item + 1;
  if (*item == kEscape) {
    if (*end == '\0') fail("malformed pattern (ends with '%')");
    return {item, end + 1};
  }
  if (*item != '[') return {item, end};
  if (*end == '^') ++end;
  do {  // the first character of a set is in it, also if it is its end
    if (*end == '\0') fail("malformed pattern (missing ']')");
    const bool is_escape = *end == kEscape;
    ++end;
    if (is_escape && *end != '\0') ++end;
  } while (*end != ']');
  spend(static_cast<std::size_t>(end - item));
  return {item, end + 1};
}

bool LuaPatternMatcher::fits(const char* at, const Single& single) {
  if (at == subject_end_) return false;
  spend(1);
  switch (*single.begin) {
    case '.':
      return true;
    case kEscape:
      return is_in_class(*at, single.begin[1]);
    case '[':
      return fits_set(*at, single);
    default:
      return *at == *single.begin;
  }
}

bool LuaPatternMatcher::fits_set(char c, const Single& set) {
  const bool is_complement = set.begin[1] == '^';
  const char* const last = set.end - 1;  // the ]
  spend(static_cast<std::size_t>(last - set.begin));
  for (const char* next = set.begin + (is_complement ? 2 : 1); next < last; ++next) {
    if (*next == kEscape) {
      if (is_in_class(c, *++next)) return !is_complement;
    } else if (next[1] == '-' && next + 2 < last) {
      if (is_in_range(c, next[0], next[2])) return !is_complement;
      next += 2;
    } else if (*next == c) {
      return !is_complement;
    }
  }
  return is_complement;
}

}  // namespace rushgate
