// Patterns: the result equals that of a literal implementation of the definition.
#include <algorithm>

#include "engine/redis/commands/glob.h"
#include "tests/fuzz/fuzz.h"

namespace rushgate {
namespace {

/// Matches one element of a pattern, which is not a star, against one byte. Advances `pattern`.
bool element_matches(std::string_view& pattern, char c) {
  const auto take = [&pattern] {
    const char front = pattern.front();
    pattern.remove_prefix(1);
    return front;
  };
  const char kind = take();
  if (kind == '?') return true;
  if (kind == '\\') return (pattern.empty() ? kind : take()) == c;
  if (kind != '[') return kind == c;
  const bool negated = pattern.starts_with('^');
  if (negated) take();
  bool found = false;
  while (!pattern.empty() && pattern.front() != ']') {
    const char first = take();
    if (first == '\\' && !pattern.empty()) {
      if (take() == c) found = true;
    } else if (pattern.size() >= 2 && pattern.front() == '-') {
      take();
      const auto low = static_cast<signed char>(first);
      const auto high = static_cast<signed char>(take());
      const auto byte = static_cast<signed char>(c);
      if (byte >= std::min(low, high) && byte <= std::max(low, high)) found = true;
    } else if (first == c) {
      found = true;
    }
  }
  if (!pattern.empty()) take();
  return found != negated;
}

bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() == '*') {
    for (std::size_t taken = 0; taken <= text.size(); ++taken) {
      if (matches(pattern.substr(1), text.substr(taken))) return true;
    }
    return false;
  }
  return !text.empty() && element_matches(pattern, text.front()) &&
         matches(pattern, text.substr(1));
}

}  // namespace
}  // namespace rushgate

RUSHGATE_FUZZER(glob) {
  constexpr std::size_t kLong = 24;  // the literal implementation is too slow for more
  rushgate::fuzz::Input input(data, size);
  const std::string_view pattern = input.text();
  const std::string_view text = input.rest();
  const bool answer = rushgate::glob_matches(pattern, text);
  rushgate::glob_matches_in_any_case(pattern, text);
  if (pattern.size() > kLong || text.size() > kLong) return 0;
  if (text.empty()) return 0;  // only an empty pattern matches it, as in Redis
  if (std::count(pattern.begin(), pattern.end(), '*') > 5) return 0;
  rushgate::fuzz::expect(answer == rushgate::matches(pattern, text), "the definition's answer");
  return 0;
}
