// The positions of a block's elements.
#include <algorithm>
#include <cstring>

#include "engine/redis/keyspace/list_block.h"

namespace rushgate {

/// Returns true if distances are equal and stay so with this position.
bool ListBlock::continues(std::size_t at, ListPosition position) const {
  if (!is_regular()) return false;
  return empty() || (at == 0 && position + kListStep == header().first) ||
         (at == size() && position - kListStep == last_position());
}

/// There must be space.
void ListBlock::insert_position(std::size_t at, ListPosition position) {
  if (continues(at, position)) {
    if (at == 0) header().first = position;
    return;
  }
  spell_out();
  ListPosition* const place = positions() + at;
  std::memmove(place + 1, place, (size() - at) * sizeof(position));
  *place = position;
}

/// There must be space for positions, unless they stay regular.
void ListBlock::erase_position(std::size_t at) {
  if (is_regular() && (at == 0 || at == size() - 1)) {
    if (at == 0) header().first += kListStep;
    return;
  }
  spell_out();
  ListPosition* const place = positions() + at;
  std::memmove(place, place + 1, (size() - at - 1) * sizeof(*place));
  if (size() == 2) {
    header().first = positions()[0];
    header().is_regular = true;
  }
}

void ListBlock::prepare_repositioning() {
  if (!header().has_positions) reserve(size(), true, 0);
}

void ListBlock::set_position(std::size_t at, ListPosition position) {
  spell_out();
  positions()[at] = position;
}

void ListBlock::make_regular_if_equal() {
  if (is_regular()) return;
  const auto is_irregular = [](ListPosition a, ListPosition b) { return b - a != kListStep; };
  const ListPosition* const end = positions() + size();
  if (std::adjacent_find(static_cast<const ListPosition*>(positions()), end, is_irregular) == end) {
    make_regular();
  }
}

void ListBlock::make_regular() {
  if (is_regular()) return;
  header().first = positions()[0];
  header().is_regular = true;
}

/// There must be space.
void ListBlock::spell_out() {
  if (!is_regular()) return;
  for (std::size_t at = 0; at < size(); ++at) positions()[at] = header().first + at * kListStep;
  header().is_regular = false;
}

}  // namespace rushgate
