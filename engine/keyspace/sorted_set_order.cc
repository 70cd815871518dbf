#include "engine/keyspace/sorted_set_order.h"

#include <cassert>
#include <iterator>
#include <utility>

namespace rushgate {
namespace {

/// Moves items from one neighbour to the other until the left one has `left_size`. Both have room.
template <class Item>
void level(std::vector<Item>& left, std::vector<Item>& right, std::size_t left_size) {
  const auto size = static_cast<std::ptrdiff_t>(left.size());
  const auto moved = static_cast<std::ptrdiff_t>(left_size) - size;
  if (moved >= 0) {
    const auto end = right.begin() + moved;
    std::move(right.begin(), end, std::back_inserter(left));
    right.erase(right.begin(), end);
  } else {
    const auto begin = left.end() + moved;
    right.insert(right.begin(), std::make_move_iterator(begin),
                 std::make_move_iterator(left.end()));
    left.erase(begin, left.end());
  }
}

}  // namespace

std::size_t SortedSetOrder::Node::size() const {
  std::size_t size = elements.size();
  for (const Child& child : children) size += child.size;
  return size;
}

/// Says anew what is below the child, which must not be empty.
void SortedSetOrder::Node::refresh(std::size_t child) {
  children[child].size = children[child].node->size();
  children[child].first = children[child].node->first();
}

/// The child that has the element, or is to have it.
std::size_t SortedSetOrder::child_of(const Node& node, const Element& element) {
  const std::size_t not_after =
      children_before(node, [&element](const Element& first) { return !element.is_before(first); });
  return not_after == 0 ? 0 : not_after - 1;
}

// ---- Insertion ----

void SortedSetOrder::insert(const Element& element) {
  if (root_ == nullptr) {
    root_ = std::make_unique<Node>();
    bytes_ += root_->memory_bytes();
  }
  if (root_->is_full()) {
    auto root = std::make_unique<Node>();
    root->children.reserve(kInnerMax);
    bytes_ += root->memory_bytes();
    root->children.push_back({std::move(root_), 0, nullptr});
    root->refresh(0);
    root_ = std::move(root);
  }
  insert(*root_, element, true);
}

/// The node is not full, or has one child alone. What is full below it is split on the way down:
/// whenever memory runs out, all is in order.
void SortedSetOrder::insert(Node& node, const Element& element, bool is_rightmost) {
  if (node.is_leaf()) {
    if (node.elements.size() == node.elements.capacity()) {
      const std::size_t before = heap_bytes(node.elements);
      node.elements.reserve(std::clamp(node.used() * 2, std::size_t{4}, kLeafMax));
      bytes_ += heap_bytes(node.elements) - before;
    }
    const std::size_t at = elements_before(
        node, [&element](const Element& other) { return other.is_before(element); });
    node.elements.insert(node.elements.begin() + static_cast<std::ptrdiff_t>(at), &element);
    return;
  }
  std::size_t child = child_of(node, element);
  bool is_last = is_rightmost && child + 1 == node.children.size();
  if (const Node& below = *node.children[child].node; below.is_full()) {
    // Elements that come in their order leave full leaves behind.
    const bool comes_last = is_last && below.is_leaf() && below.elements.back()->is_before(element);
    split(node, child, comes_last ? kLeafMax - 1 : below.used() / 2);
    if (!element.is_before(*node.children[child + 1].first)) {
      ++child;
    } else {
      is_last = false;
    }
  }
  insert(*node.children[child].node, element, is_last);
  ++node.children[child].size;
  node.children[child].first = node.children[child].node->first();
}

/// The child becomes two, of which the left one has `left_used` of what it had.
void SortedSetOrder::split(Node& parent, std::size_t child, std::size_t left_used) {
  Node& left = *parent.children[child].node;
  auto right = std::make_unique<Node>();
  if (left.is_leaf()) {
    right->elements.reserve(kLeafMax);
    level(left.elements, right->elements, left_used);
  } else {
    right->children.reserve(kInnerMax);
    level(left.children, right->children, left_used);
  }
  bytes_ += right->memory_bytes();
  const auto after = parent.children.begin() + static_cast<std::ptrdiff_t>(child) + 1;
  parent.children.insert(after, Child{std::move(right), 0, nullptr});
  parent.refresh(child);
  parent.refresh(child + 1);
}

// ---- Removal ----

void SortedSetOrder::erase(const Element& element) {
  erase(*root_, element);
  while (root_->children.size() == 1) {
    bytes_ -= root_->memory_bytes();
    root_ = std::move(root_->children.front().node);
  }
}

void SortedSetOrder::erase(Node& node, const Element& element) {
  if (node.is_leaf()) {
    const std::size_t at = elements_before(
        node, [&element](const Element& other) { return other.is_before(element); });
    assert(at < node.elements.size() && node.elements[at] == &element);
    node.elements.erase(node.elements.begin() + static_cast<std::ptrdiff_t>(at));
    return;
  }
  const std::size_t child = child_of(node, element);
  Node& below = *node.children[child].node;
  erase(below, element);
  --node.children[child].size;
  if (below.used() > 0) node.children[child].first = below.first();
  if (below.used() < below.used_max() / 4) join(node, child == 0 ? 0 : child - 1);
}

/// Two neighbours become one, or have the same number each.
void SortedSetOrder::join(Node& parent, std::size_t left_child) {
  if (left_child + 1 == parent.children.size()) return;  // an only child
  Node& left = *parent.children[left_child].node;
  Node& right = *parent.children[left_child + 1].node;
  const std::size_t used = left.used() + right.used();
  const std::size_t comfortable = left.used_max() - left.used_max() / 4;
  const std::size_t left_used = used <= comfortable ? used : used / 2;
  left.is_leaf() ? level(left.elements, right.elements, left_used)
                 : level(left.children, right.children, left_used);
  if (left_used == used) {
    bytes_ -= right.memory_bytes();
    parent.children.erase(parent.children.begin() + static_cast<std::ptrdiff_t>(left_child) + 1);
  } else {
    parent.refresh(left_child + 1);
  }
  parent.refresh(left_child);
}

// ---- Looking ----

const SortedSetElement& SortedSetOrder::at(std::size_t rank) const {
  const Node* node = root_.get();
  while (!node->is_leaf()) {
    auto child = node->children.begin();
    for (; rank >= child->size; ++child) rank -= child->size;
    node = child->node.get();
  }
  return *node->elements[rank];
}

std::size_t SortedSetOrder::measured_bytes(const Node& node) {
  std::size_t bytes = node.memory_bytes();
  for (const Child& child : node.children) bytes += measured_bytes(*child.node);
  return bytes;
}

}  // namespace rushgate
