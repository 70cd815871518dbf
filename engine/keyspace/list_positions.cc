#include "engine/keyspace/list_positions.h"

#include <algorithm>
#include <iterator>

namespace rushgate {

std::size_t ListPositions::lower_bound(ListPosition position) const {
  if (!is_regular()) {
    return static_cast<std::size_t>(std::ranges::lower_bound(each_, position) - each_.begin());
  }
  if (size_ == 0 || position <= first_) return 0;
  return std::min<std::size_t>(size_, (position - first_ - 1) / kListStep + 1);
}

/// Returns true if distances are equal and stay so with this position.
bool ListPositions::continues(std::size_t at, ListPosition position) const {
  if (!is_regular()) return false;
  return size_ == 0 || (at == 0 && position + kListStep == first_) ||
         (at == size_ && position - kListStep == back());
}

void ListPositions::prepare_insert(std::size_t at, ListPosition position) {
  if (continues(at, position)) return;
  const std::size_t wanted = size_ + 1;
  if (wanted > each_.capacity()) each_.reserve(std::max(wanted, 2 * each_.size()));
}

void ListPositions::insert(std::size_t at, ListPosition position) {
  if (continues(at, position)) {
    if (at == 0) first_ = position;
    ++size_;
    return;
  }
  prepare_insert(at, position);
  spell_out();
  each_.insert(std::next(each_.begin(), static_cast<std::ptrdiff_t>(at)), position);
  ++size_;
}

void ListPositions::erase(std::size_t at) {
  if (is_regular() && (at == 0 || at == size_ - 1)) {
    if (at == 0) first_ += kListStep;
    --size_;
    return;
  }
  spell_out();
  each_.erase(std::next(each_.begin(), static_cast<std::ptrdiff_t>(at)));
  --size_;
  if (size_ <= 1) make_regular_if_equal();
}

void ListPositions::assign(std::size_t at, ListPosition position) {
  spell_out();
  each_[at] = position;
}

void ListPositions::make_regular_if_equal() {
  if (is_regular()) return;
  const auto is_irregular = [](ListPosition a, ListPosition b) { return b - a != kListStep; };
  if (std::ranges::adjacent_find(each_, is_irregular) != each_.end()) return;
  make_regular();
}

void ListPositions::make_regular() {
  if (is_regular()) return;
  first_ = each_.front();
  each_.clear();
}

ListPositions ListPositions::take_from(std::size_t at) {
  ListPositions taken;
  taken.size_ = size_ - at;
  if (is_regular()) {
    taken.first_ = (*this)[at];
  } else {
    const auto begin = std::next(each_.begin(), static_cast<std::ptrdiff_t>(at));
    taken.each_.assign(begin, each_.end());
    each_.erase(begin, each_.end());
    taken.make_regular_if_equal();
    make_regular_if_equal();
  }
  size_ = at;
  return taken;
}

void ListPositions::append(const ListPositions& taken) {
  if (is_regular() && taken.is_regular() && taken.first_ - kListStep == back()) {
    size_ += taken.size_;
    return;
  }
  spell_out();
  for (std::size_t at = 0; at < taken.size_; ++at) each_.push_back(taken[at]);
  size_ += taken.size_;
}

void ListPositions::spell_out() {
  if (!is_regular()) return;
  each_.reserve(size_ + 1);
  for (std::size_t at = 0; at < size_; ++at) each_.push_back(first_ + at * kListStep);
}

}  // namespace rushgate
