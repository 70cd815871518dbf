// Patterns of KEYS, SCAN and CONFIG GET: https://redis.io/docs/latest/commands/keys/
#pragma once

#include <string_view>

namespace rushgate {

/// Does the whole text match?
///
///   *        any bytes       [abc]   one of them       [a-c]  one in the range, in either order
///   ?        any byte        [^abc]  one of no other   \\x     x itself, in a class too
///
/// A class that is not closed ends with the pattern. An empty text matches an empty pattern alone,
/// not "*". Bytes of ranges are ordered as signed numbers. All as in Redis.
bool glob_matches(std::string_view pattern, std::string_view text);

/// The same, without regard to case.
bool glob_matches_in_any_case(std::string_view pattern, std::string_view text);

}  // namespace rushgate
