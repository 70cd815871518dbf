#include "engine/redis/keyspace/sorted_set_order.h"

#include <cassert>
#include <iterator>
#include <utility>

#include "engine/core/base/heap.h"

namespace rushgate {
namespace {

/// Moves items between neighbours until the left one has `left_size`. Both have capacity.
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

/// Updates the entry of the child, which must not be empty.
void SortedSetOrder::Node::refresh(std::size_t child) {
  children[child].size = children[child].node->size();
  children[child].first = children[child].node->first();
}

/// Returns the child that has the element, or must get it.
std::size_t SortedSetOrder::child_of(const Node& node, const Element& element) {
  const std::size_t not_after =
      children_before(node, [&element](const Element& first) { return !element.is_before(first); });
  return not_after == 0 ? 0 : not_after - 1;
}

void SortedSetOrder::level(Node& left, Node& right, std::size_t left_used) {
  left.is_leaf() && right.is_leaf() ? rushgate::level(left.elements, right.elements, left_used)
                                    : rushgate::level(left.children, right.children, left_used);
}

// ---- Insertion ----

SortedSetOrder::Insertion SortedSetOrder::insert(const Element& element) {
  if (root_ == nullptr) {
    root_ = std::make_unique<Node>();
    bytes_ += root_->memory_bytes();
  }
  Insertion done;
  try {
    if (root_->is_full()) {
      done = std::make_unique<Splits>();
      auto root = std::make_unique<Node>();
      root->children.reserve(kInnerMax);
      bytes_ += root->memory_bytes();
      root->children.push_back({std::move(root_), 0, nullptr});
      root->refresh(0);
      root_ = std::move(root);
      done->made_root = true;
    }
    insert(*root_, element, true, done);
  } catch (...) {
    unsplit(done);
    throw;
  }
  return done;
}

/// The node is not full, or has a single child. Full nodes are split on the way down, so the order
/// stays valid if memory runs out.
void SortedSetOrder::insert(Node& node, const Element& element, bool is_rightmost,
                            Insertion& done) {
  if (node.is_leaf()) {
    if (node.elements.size() == node.elements.capacity()) {
      const std::size_t before = heap_bytes(node.elements);
      node.elements.reserve(std::clamp(node.used() * 2, std::size_t{4}, kLeafMax));
      bytes_ += heap_bytes(node.elements) - before;
    }
    return insert_into_leaf(node, element);
  }
  std::size_t child = child_of(node, element);
  bool is_last = is_rightmost && child + 1 == node.children.size();
  if (const Node& below = *node.children[child].node; below.is_full()) {
    // Insertions in ascending order leave full leaves behind.
    const bool comes_last = is_last && below.is_leaf() && below.elements.back()->is_before(element);
    split(node, child, comes_last ? kLeafMax - 1 : below.used() / 2, done);
    if (!element.is_before(*node.children[child + 1].first)) {
      ++child;
    } else {
      is_last = false;
    }
  }
  insert(*node.children[child].node, element, is_last, done);
  ++node.children[child].size;
  node.children[child].first = node.children[child].node->first();
}

/// The leaf must have capacity.
void SortedSetOrder::insert_into_leaf(Node& leaf, const Element& element) {
  const std::size_t at =
      elements_before(leaf, [&element](const Element& other) { return other.is_before(element); });
  leaf.elements.insert(leaf.elements.begin() + static_cast<std::ptrdiff_t>(at), &element);
}

/// Splits the child in two. The left one keeps `left_used` items.
void SortedSetOrder::split(Node& parent, std::size_t child, std::size_t left_used,
                           Insertion& done) {
  Node& left = *parent.children[child].node;
  if (done == nullptr) done = std::make_unique<Splits>();
  done->splits.reserve(done->splits.size() + 1);
  auto right = std::make_unique<Node>();
  if (left.is_leaf()) {
    right->elements.reserve(kLeafMax);
    rushgate::level(left.elements, right->elements, left_used);
  } else {
    right->children.reserve(kInnerMax);
    rushgate::level(left.children, right->children, left_used);
  }
  bytes_ += right->memory_bytes();
  const auto after = parent.children.begin() + static_cast<std::ptrdiff_t>(child) + 1;
  parent.children.insert(after, Child{std::move(right), 0, nullptr});
  parent.refresh(child);
  parent.refresh(child + 1);
  done->splits.push_back({&parent, child});
}

void SortedSetOrder::unsplit(const Insertion& done) {
  if (done == nullptr) return;
  for (; !done->splits.empty(); done->splits.pop_back()) {
    const auto [parent, child] = done->splits.back();
    Node& left = *parent->children[child].node;
    Node& right = *parent->children[child + 1].node;
    level(left, right, left.used() + right.used());
    bytes_ -= right.memory_bytes();
    parent->children.erase(parent->children.begin() + static_cast<std::ptrdiff_t>(child) + 1);
    parent->refresh(child);
  }
  if (!done->made_root) return;
  bytes_ -= root_->memory_bytes();
  root_ = std::unique_ptr<Node>(std::move(root_->children.front().node));
}

void SortedSetOrder::roll_back(const Element& inserted, const Insertion& insertion) {
  erase_alone(*root_, inserted);
  unsplit(insertion);
}

/// Erases without joining nodes.
void SortedSetOrder::erase_alone(Node& node, const Element& element) {
  if (node.is_leaf()) {
    const std::size_t at = elements_before(
        node, [&element](const Element& other) { return other.is_before(element); });
    assert(at < node.elements.size() && node.elements[at] == &element);
    node.elements.erase(node.elements.begin() + static_cast<std::ptrdiff_t>(at));
    return;
  }
  Child& child = node.children[child_of(node, element)];
  erase_alone(*child.node, element);
  --child.size;
  if (child.node->used() > 0) child.first = child.node->first();
}

// ---- Removal ----

SortedSetOrder::Removal SortedSetOrder::erase(const Element& element) {
  Removal done;
  std::size_t height = 0;
  if (may_join(element, height)) {
    done.joins = std::make_unique<Joins>();
    done.joins->joins.reserve(height);
    done.joins->roots.reserve(height);
  }
  erase(*root_, element, done);
  while (root_->children.size() == 1) {
    bytes_ -= root_->memory_bytes();
    std::unique_ptr<Node> only = std::move(root_->children.front().node);
    done.joins->roots.push_back(std::exchange(root_, std::move(only)));
  }
  return done;
}

/// Sets `height` to the number of nodes above the element's leaf.
bool SortedSetOrder::may_join(const Element& erased, std::size_t& height) const {
  const Node* node = root_.get();
  for (height = 0; !node->is_leaf(); ++height) {
    node = node->children[child_of(*node, erased)].node.get();
  }
  return height > 0 && node->used() <= node->used_max() / 4;
}

void SortedSetOrder::erase(Node& node, const Element& element, Removal& done) {
  if (node.is_leaf()) {
    const auto at = std::lower_bound(
        node.elements.begin(), node.elements.end(), &element,
        [](const Element* other, const Element* wanted) { return other->is_before(*wanted); });
    assert(at != node.elements.end() && *at == &element);
    const auto next = node.elements.erase(at);
    if (!node.elements.empty()) {
      done.neighbour = next == node.elements.begin() ? *next : *std::prev(next);
    }
    return;
  }
  const std::size_t child = child_of(node, element);
  Node& below = *node.children[child].node;
  erase(below, element, done);
  --node.children[child].size;
  if (below.used() > 0) node.children[child].first = below.first();
  if (below.is_sparse() && done.joins != nullptr) {
    join(node, child == 0 ? 0 : child - 1, *done.joins);
  }
}

/// Joins two neighbours, or balances them.
void SortedSetOrder::join(Node& parent, std::size_t left_child, Joins& done) {
  if (left_child + 1 == parent.children.size()) return;  // an only child
  Node& left = *parent.children[left_child].node;
  std::unique_ptr<Node>& right = parent.children[left_child + 1].node;
  const std::size_t used = left.used() + right->used();
  const std::size_t comfortable = left.used_max() - left.used_max() / 4;
  const std::size_t left_used = used <= comfortable ? used : used / 2;
  Join& joined = done.joins.emplace_back(Join{&parent, left_child, left.used(), nullptr});
  level(left, *right, left_used);
  if (left_used == used) {
    bytes_ -= right->memory_bytes();
    joined.right = std::move(right);
    parent.children.erase(parent.children.begin() + static_cast<std::ptrdiff_t>(left_child) + 1);
  } else {
    parent.refresh(left_child + 1);
  }
  parent.refresh(left_child);
}

void SortedSetOrder::unjoin(Joins& done) {
  for (; !done.roots.empty(); done.roots.pop_back()) {
    std::unique_ptr<Node>& root = done.roots.back();
    root->children.front().node = std::move(root_);
    root_ = std::move(root);
    bytes_ += root_->memory_bytes();
  }
  for (; !done.joins.empty(); done.joins.pop_back()) {
    auto& [parent, left_child, left_used, right] = done.joins.back();
    if (right != nullptr) {
      bytes_ += right->memory_bytes();
      parent->children.insert(
          parent->children.begin() + static_cast<std::ptrdiff_t>(left_child) + 1,
          Child{std::move(right), 0, nullptr});
    }
    level(*parent->children[left_child].node, *parent->children[left_child + 1].node, left_used);
    parent->refresh(left_child);
    parent->refresh(left_child + 1);
  }
}

void SortedSetOrder::roll_back(const Element& erased, Removal removal) {
  if (removal.joins != nullptr) unjoin(*removal.joins);
  insert_next_to(*root_, erased, removal.neighbour);
}

/// Inserts into the leaf of its neighbour, which has capacity; null: the only leaf is empty.
void SortedSetOrder::insert_next_to(Node& node, const Element& element, const Element* neighbour) {
  if (node.is_leaf()) return insert_into_leaf(node, element);
  Child& child = node.children[child_of(node, *neighbour)];
  insert_next_to(*child.node, element, neighbour);
  ++child.size;
  child.first = child.node->first();
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
