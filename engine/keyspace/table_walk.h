// Walking over a SegmentedTable in steps between which it may change: what SCAN rests on.
//
// An item's position is the upper bits of its hash: it depends on the item and the table's seed
// alone. A walk by positions meets each item that is there from its beginning to its end once,
// whatever becomes of the others and of the segments meanwhile, and all that it has to remember is
// the position from which to go on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/keyspace/segmented_table.h"

namespace rushgate {

/// The end, above `begin`, of a step: up to there are `count` items, which must be at least 1. They
/// are more if some share a position, and fewer at the end or after many empty segments.
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

/// visit(item) for each item with a position in [begin, end); `visit` must not insert or remove.
template <class Table, class Visit>
void for_each_between(Table& table, std::uint64_t begin, std::uint64_t end, Visit visit) {
  for (std::uint64_t at = begin; at < end;) {
    at = table.visit_segment(at, [&](auto& item, std::uint64_t position) {
      if (position >= begin && position < end) visit(item);
    });
  }
}

}  // namespace rushgate
