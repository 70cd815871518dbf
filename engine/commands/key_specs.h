// Where a command's keys stand among its arguments, and what it does to them:
// https://redis.io/docs/latest/develop/reference/key-specs/
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/client/request.h"

namespace rushgate {

struct CommandSpec;

namespace key_specs {

/// As COMMAND INFO names them.
enum Flag : std::uint16_t {
  kRO = 1U << 0,             // reads the value, or what is known of it (its length, its type)
  kRW = 1U << 1,             // changes a part of it, or all of it after a look
  kOW = 1U << 2,             // puts another in its place
  kRM = 1U << 3,             // removes it
  kAccess = 1U << 4,         // the client gets to know of the value, or another key gets a copy
  kUpdate = 1U << 5,         // writes something that may depend on what was there
  kInsert = 1U << 6,         // adds to it, and neither changes nor removes what was there
  kDelete = 1U << 7,         // removes a part of it, or all
  kNotKey = 1U << 8,         // it only looks like a key: the name of a shard's channel
  kVariableFlags = 1U << 9,  // the other arguments decide which of these flags hold
};

}  // namespace key_specs

/// Some of the keys of a command, or names that are used like keys.
struct KeySpec {
  std::uint16_t flags = 0;
  std::int16_t first = 0;         // the position where they begin, or, after a keyword, the first
                                  // at which that may stand
  std::string_view keyword = {};  // if not empty: they follow it
  bool is_counted = false;        // at `first` stands their number, and then they follow
  std::int16_t last = 0;          // counted from the first; below 0: from the end
  std::int16_t step = 1;          // from one to the next
  bool are_half = false;          // of what is left, the first half are keys

  /// Do they stand where they stand whatever the arguments are?
  [[nodiscard]] constexpr bool is_fixed() const { return keyword.empty() && !is_counted; }
};

/// All of a command's.
class KeySpecs {
 public:
  constexpr KeySpecs() = default;
  constexpr explicit KeySpecs(const KeySpec& only) : specs_{only}, size_(1) {}

  [[nodiscard]] constexpr bool empty() const { return size_ == 0; }
  [[nodiscard]] constexpr const KeySpec* begin() const { return specs_.data(); }
  [[nodiscard]] constexpr const KeySpec* end() const { return specs_.data() + size_; }

  /// One of each.
  friend constexpr KeySpecs operator+(KeySpecs first, const KeySpecs& second) {
    first.specs_[1] = second.specs_[0];
    first.size_ = 2;
    return first;
  }

 private:
  std::array<KeySpec, 2> specs_ = {};
  std::uint8_t size_ = 0;
};

namespace key_specs {

/// The argument at `position`.
constexpr KeySpecs key(int position, unsigned flags) {
  return KeySpecs(
      {.flags = static_cast<std::uint16_t>(flags), .first = static_cast<std::int16_t>(position)});
}

/// Every `step`th argument from `first` to `last`, which is counted from the end if below 0.
constexpr KeySpecs keys(int first, int last, unsigned flags, std::int16_t step = 1) {
  return KeySpecs({.flags = static_cast<std::uint16_t>(flags),
                   .first = static_cast<std::int16_t>(first),
                   .last = static_cast<std::int16_t>(last < 0 ? last : last - first),
                   .step = step});
}

/// As many as the argument at `position` says, behind it.
constexpr KeySpecs counted_keys(int position, unsigned flags) {
  return KeySpecs({.flags = static_cast<std::uint16_t>(flags),
                   .first = static_cast<std::int16_t>(position),
                   .is_counted = true});
}

/// The first half of what follows the keyword, which stands at `from` or later.
constexpr KeySpecs keys_after(std::string_view keyword, int from, unsigned flags) {
  return KeySpecs({.flags = static_cast<std::uint16_t>(flags),
                   .first = static_cast<std::int16_t>(from),
                   .keyword = keyword,
                   .last = -1,
                   .are_half = true});
}

}  // namespace key_specs

/// What clients knew before there were key specs: the fixed keys as one range. All 0 if there are
/// none.
struct KeyRange {
  int first = 0;
  int last = 0;  // below 0: from the end
  int step = 0;
};
KeyRange key_range(const KeySpecs& specs);

/// Must one look at other arguments to find the keys?
bool are_movable(const KeySpecs& specs);

/// Names of the flags that are set.
std::vector<std::string_view> key_flag_names(unsigned flags);

/// A key in a request.
struct FoundKey {
  std::size_t position;
  unsigned flags;
};

/// The keys of a request whose command has the row `spec`, whose arity fits it, and which has
/// specs; empty if the arguments make no sense.
std::vector<FoundKey> find_keys(const CommandSpec& spec, RequestView request);

}  // namespace rushgate
