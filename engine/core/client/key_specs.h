// Positions of a command's keys among its arguments, and its accesses to them:
// https://redis.io/docs/latest/develop/reference/key-specs/
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <rushgate/request.h>

namespace rushgate {

namespace key_specs {

/// As COMMAND INFO names them.
enum Flag : std::uint16_t {
  kRO = 1U << 0,             // reads the value or its properties (length, type)
  kRW = 1U << 1,             // changes the value, depending on its old value
  kOW = 1U << 2,             // overwrites the value
  kRM = 1U << 3,             // removes the key
  kAccess = 1U << 4,         // returns the value, or copies it to another key
  kUpdate = 1U << 5,         // writes data that may depend on the old value
  kInsert = 1U << 6,         // adds data; changes and removes nothing
  kDelete = 1U << 7,         // removes a part of the value, or all of it
  kNotKey = 1U << 8,         // not a key: the name of a shard's channel
  kVariableFlags = 1U << 9,  // other arguments select among these flags
};

}  // namespace key_specs

/// A group of keys in a command, or of names that are used like keys.
struct KeySpec {
  std::uint16_t flags = 0;
  std::int16_t first = 0;         // position of the first key; with a keyword, the first position
                                  // where the keyword may be
  std::string_view keyword = {};  // if not empty: the keys follow this keyword
  bool is_counted = false;        // the number of keys is at `first`; they follow it
  std::int16_t last = 0;          // relative to the first key; negative: from the end
  std::int16_t step = 1;          // distance between keys
  bool are_half = false;          // only the first half of the remaining arguments
  bool is_unknown = false;        // none of these describes the positions: find_keys() has a rule

  /// Returns true if the positions do not depend on the arguments.
  [[nodiscard]] constexpr bool is_fixed() const {
    return keyword.empty() && !is_counted && !is_unknown;
  }
};

/// All key specs of a command: at most three.
class KeySpecs {
 public:
  constexpr KeySpecs() = default;
  constexpr explicit KeySpecs(const KeySpec& only) : specs_{only}, size_(1) {}

  [[nodiscard]] constexpr bool empty() const { return size_ == 0; }
  [[nodiscard]] constexpr const KeySpec* begin() const { return specs_.data(); }
  [[nodiscard]] constexpr const KeySpec* end() const { return specs_.data() + size_; }

  /// Adds one spec to others.
  friend constexpr KeySpecs operator+(KeySpecs first, const KeySpecs& second) {
    first.specs_.at(first.size_++) = second.specs_[0];
    return first;
  }

 private:
  std::array<KeySpec, 3> specs_ = {};
  std::uint8_t size_ = 0;
};

namespace key_specs {

/// Returns the spec of the argument at `position`.
constexpr KeySpecs key(int position, unsigned flags) {
  return KeySpecs(
      {.flags = static_cast<std::uint16_t>(flags), .first = static_cast<std::int16_t>(position)});
}

/// Returns the spec of every `step`th argument. A negative `last` counts from the end.
constexpr KeySpecs keys(int first, int last, unsigned flags, std::int16_t step = 1) {
  return KeySpecs({.flags = static_cast<std::uint16_t>(flags),
                   .first = static_cast<std::int16_t>(first),
                   .last = static_cast<std::int16_t>(last < 0 ? last : last - first),
                   .step = step});
}

/// Returns the spec of keys whose number is the argument at `position`. They follow it, every
/// `step`th argument.
constexpr KeySpecs counted_keys(int position, unsigned flags, std::int16_t step = 1) {
  return KeySpecs({.flags = static_cast<std::uint16_t>(flags),
                   .first = static_cast<std::int16_t>(position),
                   .is_counted = true,
                   .step = step});
}

/// Returns the spec of the argument after a keyword at `from` or later.
constexpr KeySpecs key_after(std::string_view keyword, int from, unsigned flags) {
  return KeySpecs({.flags = static_cast<std::uint16_t>(flags),
                   .first = static_cast<std::int16_t>(from),
                   .keyword = keyword});
}

/// Returns the spec of keys whose positions a spec cannot describe.
constexpr KeySpecs unknown_keys(unsigned flags) {
  return KeySpecs({.flags = static_cast<std::uint16_t>(flags), .is_unknown = true});
}

/// Returns the spec of the first half of the arguments after a keyword at `from` or later.
constexpr KeySpecs keys_after(std::string_view keyword, int from, unsigned flags) {
  return KeySpecs({.flags = static_cast<std::uint16_t>(flags),
                   .first = static_cast<std::int16_t>(from),
                   .keyword = keyword,
                   .last = -1,
                   .are_half = true});
}

}  // namespace key_specs

/// The fixed keys as one range, for clients without support for key specs. All 0 if there are
/// none.
struct KeyRange {
  int first = 0;
  int last = 0;  // negative: from the end
  int step = 0;
};
KeyRange key_range(const KeySpecs& specs);

/// Returns true if the positions of the keys depend on other arguments.
bool are_movable(const KeySpecs& specs);

/// Returns the names of the flags.
std::vector<std::string_view> key_flag_names(unsigned flags);

/// A key in a request.
struct FoundKey {
  std::size_t position;
  unsigned flags;
};

/// Returns the keys of a request of the command with these specs; empty if its arguments are invalid
/// or missing.
std::vector<FoundKey> find_keys(const KeySpecs& specs, RequestView request);
/// Returns the names of the channels that are used like keys. The specs must be fixed.
std::vector<FoundKey> find_channels(const KeySpecs& specs, RequestView request);

}  // namespace rushgate
