// The elements of a small sorted set, packed in their order in one block of memory (packed_pairs.h):
// a pair is a member and the eight bytes of its score. Members and ranks are found by a linear
// search, as in Redis's listpacks.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "engine/redis/keyspace/packed_pairs.h"
#include "engine/redis/keyspace/scored_element.h"

namespace rushgate {

/// Not thread-safe. A change that throws (out of memory) has no effect. Only shrink() releases
/// memory, so changes are undone without memory, the newest first.
class PackedScores {
 public:
  [[nodiscard]] std::size_t size() const { return pairs_.size(); }
  [[nodiscard]] std::optional<double> score(std::string_view member) const;
  [[nodiscard]] std::optional<std::size_t> rank(std::string_view member) const;
  /// Returns the element of this rank, which must exist.
  [[nodiscard]] ScoredElement at(std::size_t rank) const {
    return element_of(pairs_.by_index(rank));
  }
  /// Returns true if there is space for one more member.
  [[nodiscard]] bool has_space_for(std::string_view member) const {
    constexpr std::size_t kElementBytes = 32;  // of its score and lengths, or less
    return pairs_.bytes() + member.size() + kElementBytes <= PackedPairs::kBytesMax;
  }

  /// The data to undo an assign().
  struct Assigned {
    std::size_t place = PackedPairs::kNone;  // of the element
    std::size_t old_place = PackedPairs::kNone;
    std::optional<double> old_score;  // empty if the member is new
  };
  Assigned assign(std::string_view member, double score);
  void roll_back(const Assigned& assigned);

  struct Found {
    std::size_t place;
    double score;
  };
  [[nodiscard]] std::optional<Found> find(std::string_view member) const;
  /// Erases the element at a place.
  void erase(std::size_t place) { pairs_.erase(pairs_.at(place)); }
  /// Undoes erase().
  void put_back(std::size_t place, const ScoredElement& element) { insert(place, element); }

  /// Returns the number of elements for which before(const ScoredElement&) is true. They must be
  /// the first ones.
  template <class Before>
  [[nodiscard]] std::size_t count_before(Before before) const {
    std::size_t count = 0;
    for (std::size_t place = 0; place < pairs_.bytes(); ++count) {
      const PackedPairs::Pair pair = pairs_.at(place);
      if (!before(element_of(pair))) return count;
      place = pair.end;
    }
    return count;
  }
  /// Call visit(const ScoredElement&) for the ranks [first, last), upwards and downwards.
  template <class Visit>
  void for_each(std::size_t first, std::size_t last, Visit visit) const {
    std::size_t place = 0;
    for (std::size_t rank = 0; rank < last; ++rank) {
      const PackedPairs::Pair pair = pairs_.at(place);
      if (rank >= first) visit(element_of(pair));
      place = pair.end;
    }
  }
  template <class Visit>
  void for_each_back(std::size_t first, std::size_t last, Visit visit) const {
    absl::InlinedVector<ScoredElement, 16> elements;
    for_each(first, last, [&](const ScoredElement& element) { elements.push_back(element); });
    for (std::size_t i = elements.size(); i > 0; --i) visit(elements[i - 1]);
  }

  /// Returns true if shrink() would release memory.
  [[nodiscard]] bool wants_to_shrink() const { return pairs_.wants_to_shrink(); }
  /// Releases unused memory. Earlier changes can no longer be undone.
  void shrink() { pairs_.shrink(); }

  /// Returns the memory on the heap.
  [[nodiscard]] std::size_t memory_bytes() const { return pairs_.memory_bytes(); }

 private:
  static ScoredElement element_of(const PackedPairs::Pair& pair);
  [[nodiscard]] std::size_t place_for(const ScoredElement& element, std::size_t old_place) const;
  void insert(std::size_t place, const ScoredElement& element);
  void assign_score(std::size_t place, double score);

  PackedPairs pairs_;
};

}  // namespace rushgate
