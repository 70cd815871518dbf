// The members of a small set of strings, in one block of memory in order of insertion
// (packed_pairs.h, with empty values). A member is found by a linear search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/redis/keyspace/packed_pairs.h"

namespace rushgate {

/// Not thread-safe. A change that throws (out of memory) has no effect. Only shrink() releases
/// memory, so an erased member is inserted again without memory.
class PackedMembers {
 public:
  static constexpr std::size_t kMembersMax = 64;
  static constexpr std::size_t kMemberBytesMax = 64;

  [[nodiscard]] std::size_t size() const { return pairs_.size(); }
  [[nodiscard]] bool contains(std::string_view member) const {
    return pairs_.value_of(member).has_value();
  }
  /// Returns the member of this index, which must exist.
  [[nodiscard]] std::string_view at(std::size_t index) const {
    return pairs_.by_index(index).field;
  }
  /// Calls visit(std::string_view member).
  template <class Visit>
  void for_each(Visit visit) const {
    pairs_.for_each([&](std::string_view member, std::string_view) { visit(member); });
  }

  /// Returns true if `member` can be inserted.
  [[nodiscard]] bool has_space_for(std::string_view member) const {
    return size() < kMembersMax && member.size() <= kMemberBytesMax;
  }
  /// Returns false if it was a member. There must be space.
  bool insert(std::string_view member) {
    if (contains(member)) return false;
    constexpr std::uint32_t kPosition = 0;  // records of members have no positions
    pairs_.insert(pairs_.bytes(), member, {}, kPosition);
    return true;
  }
  /// Returns false if it was not a member.
  bool erase(std::string_view member) {
    const PackedPairs::Pair pair = pairs_.find(member);
    if (pair.place == PackedPairs::kNone) return false;
    pairs_.erase(pair);
    return true;
  }

  /// Returns true if shrink() would release memory.
  [[nodiscard]] bool wants_to_shrink() const { return pairs_.wants_to_shrink(); }
  /// Releases unused memory. Earlier changes can no longer be undone.
  void shrink() { pairs_.shrink(); }

  /// Returns the memory on the heap.
  [[nodiscard]] std::size_t memory_bytes() const { return pairs_.memory_bytes(); }

 private:
  PackedPairs pairs_;
};

}  // namespace rushgate
