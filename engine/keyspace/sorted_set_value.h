// A sorted set: a table that finds a member's score, and the same elements in their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/keyspace/encoding_limits.h"
#include "engine/keyspace/hashing.h"
#include "engine/keyspace/segmented_table.h"
#include "engine/keyspace/sorted_set_element.h"
#include "engine/keyspace/sorted_set_order.h"
#include "engine/keyspace/table_walk.h"

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

/// A data structure only: durable changes go through sorted_sets.h. Elements are ordered by their
/// scores, equal ones by the members' bytes; ranks count from 0, the lowest.
class SortedSetValue {
 public:
  using Element = SortedSetElement;

  /// `limits` must outlive it, and all that it is moved to.
  SortedSetValue(std::uint64_t seed, const EncodingLimits& limits)
      : limits_(&limits), elements_(seed) {}

  [[nodiscard]] std::size_t size() const { return elements_.size(); }
  [[nodiscard]] std::optional<double> score(std::string_view member) const;
  [[nodiscard]] std::optional<std::size_t> rank(std::string_view member) const;
  [[nodiscard]] const Element& at(std::size_t rank) const { return order_.at(rank); }

  // ---- Changes. One that throws, for want of memory, has changed nothing. Taking one back needs
  // none, the newest first ----

  /// What takes back an assign().
  struct Assigned {
    Element* element;
    std::optional<double> old_score;
    bool was_small;
    SortedSetOrder::Removal removal;  // if it had a score
    SortedSetOrder::Insertion insertion;
  };
  /// `score` is no NaN.
  Assigned assign(std::string_view member, double score);
  void take_back(Assigned assigned);

  /// What takes back an erase(): null if the member was not there.
  struct Erased {
    Element::Owner element;
    SortedSetOrder::Removal removal;
  };
  Erased erase(std::string_view member);
  void take_back(Erased erased);

  /// How many elements there are of which before(const Element&) is true. Those must be the first
  /// ones.
  template <class Before>
  [[nodiscard]] std::size_t count_before(Before before) const {
    return order_.count_before(before);
  }
  /// visit(const Element&) for each of rank `first` to before `last`, upwards and downwards.
  template <class Visit>
  void for_each(std::size_t first, std::size_t last, Visit visit) const {
    order_.for_each(first, last, visit);
  }
  template <class Visit>
  void for_each_back(std::size_t first, std::size_t last, Visit visit) const {
    order_.for_each_back(first, last, visit);
  }

  /// As in table_walk.h: the end of a step of at least `count` elements, and those of a step.
  [[nodiscard]] std::uint64_t step_end(std::uint64_t begin, std::size_t count) const {
    return rushgate::step_end(elements_, begin, count);
  }
  template <class Visit>
  void for_each_between(std::uint64_t begin, std::uint64_t end, Visit visit) const {
    rushgate::for_each_between(elements_, begin, end, [&](const auto& owner) { visit(*owner); });
  }

  /// Would Redis keep it as a listpack? Not any more once it had too many members, or too long a
  /// one.
  [[nodiscard]] bool is_small() const { return is_small_; }
  /// And would it after adding this member?
  [[nodiscard]] bool stays_small_with(std::string_view member) const;
  /// What is_small() is to be from the beginning.
  void set_small(bool is_small) { is_small_ = is_small; }

  /// Bytes held beside itself.
  [[nodiscard]] std::size_t memory_bytes() const {
    return elements_.memory_bytes() + order_.memory_bytes() + element_bytes_;
  }
  /// The same, told from what there is instead of what was counted: for tests.
  [[nodiscard]] std::size_t measured_bytes() const;

 private:
  const EncodingLimits* limits_;
  SegmentedTable<SortedSetMember> elements_;
  SortedSetOrder order_;
  std::size_t element_bytes_ = 0;  // of those that both point to
  bool is_small_ = true;
};

}  // namespace rushgate
