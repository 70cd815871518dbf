// Patterns of KEYS, SCAN and CONFIG GET: https://redis.io/docs/latest/commands/keys/
#pragma once

#include <string_view>

namespace rushgate {

/// Returns true if the whole of `text` matches the pattern, by Redis's rules:
///
///   *        any bytes       [abc]   one of them       [a-c]  one in the range, in either order
///   ?        any byte        [^abc]  none of them      \x     x itself, also in a class
///
/// An unclosed class ends with the pattern. An empty string matches only an empty pattern, not "*".
/// The bytes of ranges compare as signed numbers.
bool glob_matches(std::string_view pattern, std::string_view text);

/// As glob_matches(), in any case.
bool glob_matches_in_any_case(std::string_view pattern, std::string_view text);

}  // namespace rushgate
