// A sorted set: packed while it is small, then a table and an order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/core/base/heap.h"
#include "engine/redis/keyspace/encoding_limits.h"
#include "engine/redis/keyspace/indexed_scores.h"
#include "engine/redis/keyspace/packed_scores.h"
#include "engine/redis/keyspace/scored_element.h"

namespace rushgate {

/// A data structure only: durable changes go through sorted_sets.h. Elements are ordered by their
/// scores, equal ones by the members' bytes; ranks count from 0, the lowest.
class SortedSetValue {
 public:
  explicit SortedSetValue(std::uint64_t seed) : seed_(seed) {}

  [[nodiscard]] std::size_t size() const { return is_large() ? indexed_->size() : packed_.size(); }
  [[nodiscard]] std::optional<double> score(std::string_view member) const {
    return is_large() ? indexed_->score(member) : packed_.score(member);
  }
  [[nodiscard]] std::optional<std::size_t> rank(std::string_view member) const {
    return is_large() ? indexed_->rank(member) : packed_.rank(member);
  }
  /// Returns the element of this rank, which must exist.
  [[nodiscard]] ScoredElement at(std::size_t rank) const {
    return is_large() ? indexed_->at(rank) : packed_.at(rank);
  }

  // ---- Changes. A change that throws (out of memory) has no effect. Undoing needs no memory, the
  // newest first, and before shrink() ----

  /// The data to undo an assign().
  struct Assigned {
    std::optional<double> old_score;  // empty if the member is new
    PackedScores::Assigned packed;    // of a small sorted set
    IndexedScores::Assigned indexed;  // of a large one
  };
  /// Keeps the form. `score` must not be NaN.
  Assigned assign(std::string_view member, double score);
  void roll_back(Assigned assigned);

  /// The data to undo an erase().
  struct Erased {
    SortedSetElement::Owner element;  // null if there was no such member
    std::size_t place;                // of a small sorted set
    SortedSetOrder::Removal removal;  // of a large one
  };
  Erased erase(std::string_view member);
  void roll_back(Erased erased);

  /// Returns true if it has ever exceeded the limits of Redis's compact encoding.
  [[nodiscard]] bool is_large() const { return indexed_ != nullptr; }
  /// Returns true if a small sorted set exceeds the limits with this member.
  [[nodiscard]] bool outgrows(const EncodingLimits& limits, std::string_view member) const;
  /// Makes a small sorted set large. Returns the data to undo it.
  PackedScores grow();
  void roll_back(PackedScores packed);

  /// Returns the number of elements for which before(const ScoredElement&) is true. They must be the
  /// first ones.
  template <class Before>
  [[nodiscard]] std::size_t count_before(Before before) const {
    return is_large() ? indexed_->count_before(before) : packed_.count_before(before);
  }
  /// Call visit(const ScoredElement&) for the ranks [first, last), upwards and downwards.
  template <class Visit>
  void for_each(std::size_t first, std::size_t last, Visit visit) const {
    is_large() ? indexed_->for_each(first, last, visit) : packed_.for_each(first, last, visit);
  }
  template <class Visit>
  void for_each_back(std::size_t first, std::size_t last, Visit visit) const {
    is_large() ? indexed_->for_each_back(first, last, visit)
               : packed_.for_each_back(first, last, visit);
  }
  /// Iterates over a large sorted set in steps (table_walk.h): the end of a step of at least `count`
  /// elements; its elements.
  [[nodiscard]] std::uint64_t step_end(std::uint64_t begin, std::size_t count) const {
    return indexed_->step_end(begin, count);
  }
  template <class Visit>
  void for_each_between(std::uint64_t begin, std::uint64_t end, Visit visit) const {
    indexed_->for_each_between(begin, end, visit);
  }

  /// Returns true if shrink() would release memory.
  [[nodiscard]] bool wants_to_shrink() const { return packed_.wants_to_shrink(); }
  /// Releases memory. Earlier changes can no longer be undone.
  void shrink() { packed_.shrink(); }

  /// Returns the memory on the heap.
  [[nodiscard]] std::size_t memory_bytes() const {
    if (!is_large()) return packed_.memory_bytes();
    return heap_block(sizeof(IndexedScores)) + indexed_->memory_bytes();
  }
  /// Computes the memory from the contents, for tests.
  [[nodiscard]] std::size_t measured_bytes() const {
    if (!is_large()) return packed_.memory_bytes();
    return heap_block(sizeof(IndexedScores)) + indexed_->measured_bytes();
  }

 private:
  std::uint64_t seed_;
  PackedScores packed_;                     // empty if it is large
  std::unique_ptr<IndexedScores> indexed_;  // null if it is small
};

}  // namespace rushgate
