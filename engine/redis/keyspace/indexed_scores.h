// The elements of a large sorted set: a table from members to scores, and the same elements in
// order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/redis/keyspace/hashing.h"
#include "engine/redis/keyspace/scored_element.h"
#include "engine/redis/keyspace/segmented_table.h"
#include "engine/redis/keyspace/sorted_set_element.h"
#include "engine/redis/keyspace/sorted_set_order.h"
#include "engine/redis/keyspace/table_walk.h"

namespace rushgate {

struct SortedSetMember {
  using Item = SortedSetElement::Owner;
  static std::uint64_t hash(std::string_view member, std::uint64_t seed) {
    return hash_bytes(member, seed);
  }
  static std::uint64_t hash(const Item& item, std::uint64_t seed) {
    return hash(item->member(), seed);
  }
  static bool matches(const Item& item, std::string_view member) {
    return item->member() == member;
  }
};

/// Not thread-safe. A change that throws (out of memory) has no effect. Undoing needs no memory, the
/// newest first.
class IndexedScores {
 public:
  using Element = SortedSetElement;

  explicit IndexedScores(std::uint64_t seed) : elements_(seed) {}

  [[nodiscard]] std::size_t size() const { return elements_.size(); }
  [[nodiscard]] std::optional<double> score(std::string_view member) const;
  [[nodiscard]] std::optional<std::size_t> rank(std::string_view member) const;
  [[nodiscard]] ScoredElement at(std::size_t rank) const { return order_.at(rank).view(); }

  /// The data to undo an assign().
  struct Assigned {
    Element* element = nullptr;
    std::optional<double> old_score;    // empty if the member is new
    SortedSetOrder::Removal removal{};  // if it had a score
    SortedSetOrder::Insertion insertion = nullptr;
  };
  Assigned assign(std::string_view member, double score);
  void roll_back(Assigned assigned);

  /// The data to undo an erase(): null if there was no such member.
  struct Erased {
    Element::Owner element;
    SortedSetOrder::Removal removal;
  };
  Erased erase(std::string_view member);
  void roll_back(Erased erased);

  /// As in SortedSetValue.
  template <class Before>
  [[nodiscard]] std::size_t count_before(Before before) const {
    return order_.count_before([&](const Element& element) { return before(element.view()); });
  }
  template <class Visit>
  void for_each(std::size_t first, std::size_t last, Visit visit) const {
    order_.for_each(first, last, [&](const Element& element) { visit(element.view()); });
  }
  template <class Visit>
  void for_each_back(std::size_t first, std::size_t last, Visit visit) const {
    order_.for_each_back(first, last, [&](const Element& element) { visit(element.view()); });
  }

  /// Iterates in steps (table_walk.h): the end of a step of `count` or more; its elements.
  [[nodiscard]] std::uint64_t step_end(std::uint64_t begin, std::size_t count) const {
    return rushgate::step_end(elements_, begin, count);
  }
  template <class Visit>
  void for_each_between(std::uint64_t begin, std::uint64_t end, Visit visit) const {
    rushgate::for_each_between(elements_, begin, end,
                               [&](const auto& owner) { visit(owner->view()); });
  }

  /// Returns the memory on the heap.
  [[nodiscard]] std::size_t memory_bytes() const {
    return elements_.memory_bytes() + order_.memory_bytes() + element_bytes_;
  }
  /// Computes the memory from the contents, for tests.
  [[nodiscard]] std::size_t measured_bytes() const;

 private:
  SegmentedTable<SortedSetMember> elements_;
  SortedSetOrder order_;
  std::size_t element_bytes_ = 0;  // of the elements themselves
};

}  // namespace rushgate
