#include "engine/redis/commands/glob.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "absl/strings/ascii.h"

namespace rushgate {
namespace {

/// Matches a string against a pattern, one byte at a time.
class Glob {
 public:
  Glob(std::string_view pattern, bool any_case) : pattern_(pattern), any_case_(any_case) {}

  [[nodiscard]] bool matches(std::string_view text) const {
    if (text.empty()) return pattern_.empty();
    std::size_t at = 0;
    std::size_t read = 0;
    std::optional<std::size_t> behind_star;  // position after the last star
    std::size_t star_end = 0;  // end of the bytes that the star and the pattern before it consumed
    while (read < text.size()) {
      if (at < pattern_.size() && pattern_[at] == '*') {
        behind_star = ++at;
        star_end = read;
        continue;
      }
      if (at < pattern_.size() && match_one(at, text[read])) {
        ++read;
        continue;
      }
      if (!behind_star) return false;
      at = *behind_star;
      read = ++star_end;
    }
    return pattern_.find_first_not_of('*', at) == std::string_view::npos;
  }

 private:
  /// Returns true if the element at `at`, which is not a star, matches `c`. Moves `at` behind the
  /// element.
  bool match_one(std::size_t& at, char c) const {
    switch (pattern_[at]) {
      case '?':
        ++at;
        return true;
      case '[':
        ++at;
        return match_class(at, c);
      case '\\':
        if (at + 1 < pattern_.size()) ++at;
        break;
      default:
        break;
    }
    return equal(pattern_[at++], c);
  }

  bool match_class(std::size_t& at, char c) const {
    const bool negated = at < pattern_.size() && pattern_[at] == '^';
    if (negated) ++at;
    bool found = false;
    while (at < pattern_.size() && pattern_[at] != ']') {
      const std::size_t left = pattern_.size() - at;
      if (pattern_[at] == '\\' && left >= 2) {
        found = found || pattern_[at + 1] == c;  // always compares exactly, as in Redis
        at += 2;
      } else if (left >= 3 && pattern_[at + 1] == '-') {
        found = found || in_range(pattern_[at], pattern_[at + 2], c);
        at += 3;
      } else {
        found = found || equal(pattern_[at], c);
        ++at;
      }
    }
    if (at < pattern_.size()) ++at;  // the bracket
    return found != negated;
  }

  [[nodiscard]] bool in_range(char a, char b, char c) const {
    const auto [low, high] = std::minmax({number(a), number(b)});
    return number(c) >= low && number(c) <= high;
  }
  [[nodiscard]] bool equal(char a, char b) const { return folded(a) == folded(b); }
  /// As a signed char, the type on most machines with Redis.
  [[nodiscard]] int number(char c) const { return static_cast<signed char>(folded(c)); }
  [[nodiscard]] char folded(char c) const {
    return any_case_ ? absl::ascii_tolower(static_cast<unsigned char>(c)) : c;
  }

  std::string_view pattern_;
  bool any_case_;
};

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view text) {
  return Glob(pattern, false).matches(text);
}

bool glob_matches_in_any_case(std::string_view pattern, std::string_view text) {
  return Glob(pattern, true).matches(text);
}

}  // namespace rushgate
