// Shared code of commands that choose random elements.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/core/base/random.h"
#include "engine/redis/commands/reply_allowance.h"

namespace rushgate {

/// Limit on draws. Redis accepts any negative count and runs out of memory for large ones.
inline constexpr std::int64_t kDrawsMax = 10'000'000;

/// Returns the names of all elements of a hash or a set.
template <class Collection>
std::vector<std::string> names_of(const Collection& collection) {
  std::vector<std::string> names;
  names.reserve(collection.size());
  collection.for_each([&](std::string_view name, auto&&...) { names.emplace_back(name); });
  return names;
}

/// Draws names of one collection, which must not change.
template <class Collection>
class Drawing {
 public:
  Drawing(const Collection& collection, Random& random) : collection_(collection), random_(random) {
    if constexpr (requires { collection.hides_most(); }) {
      if (collection.hides_most()) names_ = names_of(collection);
    }
  }

  [[nodiscard]] std::string next() {
    return names_.empty() ? collection_.draw(random_) : names_[random_.below(names_.size())];
  }

 private:
  const Collection& collection_;
  Random& random_;
  std::vector<std::string> names_;  // if the collection draws slowly
};

/// Returns the names of `count` different elements of a hash or a set; of all, if it has fewer.
template <class Collection>
std::vector<std::string> draw_different(const Collection& collection, std::size_t count,
                                        Random& random) {
  constexpr std::size_t kFew = 3;  // below this share of the elements: one by one
  if (count < collection.size() / kFew) {
    std::vector<std::string> names;
    Drawing drawing(collection, random);
    std::unordered_set<std::string> drawn;
    while (drawn.size() < count) {
      const auto [name, is_new] = drawn.insert(drawing.next());
      if (is_new) names.push_back(*name);
    }
    return names;
  }
  std::vector<std::string> names = names_of(collection);
  if (count >= names.size()) return names;
  for (std::size_t i = 0; i < count; ++i) {
    std::swap(names[i], names[i + random.below(names.size() - i)]);
  }
  names.resize(count);
  return names;
}

/// Returns `count` names, each drawn from all elements; none if they exceed `bytes_max`.
template <class Collection>
std::optional<std::vector<std::string>> draw_any(const Collection& collection, std::size_t count,
                                                 Random& random, std::size_t bytes_max) {
  std::vector<std::string> names;
  names.reserve(std::min(count, bytes_max / sizeof(std::string)));
  ReplyAllowance allowance(bytes_max);
  Drawing drawing(collection, random);
  while (names.size() < count) {
    names.push_back(drawing.next());
    if (!allowance.take(sizeof(std::string) + names.back().size())) return std::nullopt;
  }
  return names;
}

/// Draws as HRANDFIELD and SRANDMEMBER do: with a negative `count`, elements may repeat. Returns
/// nothing if those exceed `bytes_max`.
template <class Collection>
std::optional<std::vector<std::string>> draw(const Collection& collection, std::int64_t count,
                                             Random& random, std::size_t bytes_max) {
  if (count < 0) return draw_any(collection, static_cast<std::size_t>(-count), random, bytes_max);
  return draw_different(collection, static_cast<std::size_t>(count), random);
}

}  // namespace rushgate
