// Iteration over a SegmentedTable in steps, with changes between them; the basis of SCAN.
//
// An item's position is the upper bits of its hash, so it depends only on the item and the
// table's seed. Iteration by positions visits each item that exists throughout exactly
// once, regardless of changes to other items and segments. Its only state is the next
// position.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/redis/keyspace/segmented_table.h"

namespace rushgate {

/// Returns the end (above `begin`) of a step with `count` items, at least 1. The step has more if
/// items share a position, and fewer at the end or after many empty segments.
template <class Policy>
std::uint64_t step_end(const SegmentedTable<Policy>& table, std::uint64_t begin,
                       std::size_t count) {
  using Table = SegmentedTable<Policy>;
  std::vector<std::uint64_t> positions;
  std::size_t segments_left = count < Table::kPositionEnd ? 10 * count : count;
  while (begin < Table::kPositionEnd && segments_left-- > 0) {
    const std::uint64_t next = table.visit_segment(begin, [&](const auto&, std::uint64_t position) {
      if (position >= begin) positions.push_back(position);
    });
    if (positions.size() > count) {
      const auto last = positions.begin() + static_cast<std::ptrdiff_t>(count - 1);
      std::nth_element(positions.begin(), last, positions.end());
      return *last + 1;
    }
    begin = next;
  }
  return begin;
}

/// Calls visit(item), which must not insert or remove, for each item in [begin, end).
template <class Table, class Visit>
void for_each_between(Table& table, std::uint64_t begin, std::uint64_t end, Visit visit) {
  for (std::uint64_t at = begin; at < end;) {
    at = table.visit_segment(at, [&](auto& item, std::uint64_t position) {
      if (position >= begin && position < end) visit(item);
    });
  }
}

/// Calls visit(item), which must not insert or remove, until it returns false. Returns its last
/// result; true for an empty table.
template <class Table, class Visit>
bool for_each_while(Table& table, Visit visit) {
  bool goes_on = true;
  for (std::uint64_t at = 0; goes_on && at < Table::kPositionEnd;) {
    at = table.visit_segment(at,
                             [&](auto& item, std::uint64_t) { goes_on = goes_on && visit(item); });
  }
  return goes_on;
}

}  // namespace rushgate
