// The elements of a sorted set in order: a counted B+-tree. A leaf points to up to
// kLeafMax elements. An inner node stores the size and the first element of each child.
// Finding an element by rank, or the rank of an element, visits a few compact nodes. An
// element costs about 14 bytes here. (A skip list's links need twice that, and a cache
// line per step.)
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "engine/core/base/heap.h"
#include "engine/redis/keyspace/sorted_set_element.h"

namespace rushgate {

/// Does not own the elements. Not thread-safe. Ranks count from 0, the lowest element.
///
/// Changes can be undone without memory, the newest first; the same nodes hold the same elements
/// afterwards. A change that throws (out of memory) has no effect.
class SortedSetOrder {
  struct Splits;
  struct Joins;

 public:
  using Element = SortedSetElement;

  /// The nodes split by an insertion; usually none.
  using Insertion = std::unique_ptr<Splits>;
  /// The nodes joined by a removal, usually none, and the place of the element.
  struct Removal {
    const Element* neighbour = nullptr;
    std::unique_ptr<Joins> joins;
  };

  /// The element must not be there.
  Insertion insert(const Element& element);
  /// The element must be there.
  Removal erase(const Element& element);

  void roll_back(const Element& inserted, const Insertion& insertion);
  void roll_back(const Element& erased, Removal removal);

  /// Returns the element of this rank, which must exist.
  [[nodiscard]] const Element& at(std::size_t rank) const;

  /// Returns the number of elements for which before(const Element&) is true. They must be the
  /// first ones.
  template <class Before>
  [[nodiscard]] std::size_t count_before(Before before) const;

  /// Call visit(const Element&) for the ranks [first, last), upwards and downwards.
  template <class Visit>
  void for_each(std::size_t first, std::size_t last, Visit visit) const {
    if (root_ != nullptr) visit_up(*root_, first, last, visit);
  }
  template <class Visit>
  void for_each_back(std::size_t first, std::size_t last, Visit visit) const {
    if (root_ != nullptr) visit_down(*root_, first, last, visit);
  }

  /// Returns the memory on the heap, without the elements.
  [[nodiscard]] std::size_t memory_bytes() const { return bytes_; }
  /// Computes the memory from the contents, for tests.
  [[nodiscard]] std::size_t measured_bytes() const {
    return root_ == nullptr ? 0 : measured_bytes(*root_);
  }

 private:
  static constexpr std::size_t kLeafMax = 64;
  static constexpr std::size_t kInnerMax = 32;

  struct Node;
  struct Child {
    std::unique_ptr<Node> node;
    std::size_t size;      // elements below it
    const Element* first;  // of these
  };
  /// Nodes with neighbours have capacity for their maximum, so moving elements between them needs
  /// no memory.
  struct Node {
    std::vector<const Element*> elements;  // of a leaf
    std::vector<Child> children;           // of an inner node

    [[nodiscard]] bool is_leaf() const { return children.empty(); }
    [[nodiscard]] std::size_t used() const { return elements.size() + children.size(); }
    [[nodiscard]] std::size_t used_max() const { return is_leaf() ? kLeafMax : kInnerMax; }
    [[nodiscard]] bool is_full() const { return used() == used_max(); }
    /// Returns true if the node should be joined with a neighbour.
    [[nodiscard]] bool is_sparse() const { return used() < used_max() / 4; }
    [[nodiscard]] std::size_t size() const;
    [[nodiscard]] const Element* first() const {
      return is_leaf() ? elements.front() : children.front().first;
    }
    void refresh(std::size_t child);
    [[nodiscard]] std::size_t memory_bytes() const {
      return heap_block(sizeof(Node)) + heap_bytes(elements) + heap_bytes(children);
    }
  };

  struct Split {
    Node* parent;
    std::size_t child;  // index of the split child
  };
  struct Splits {
    bool made_root = false;
    std::vector<Split> splits;  // from the root downwards
  };
  struct Join {
    Node* parent;
    std::size_t left_child;
    std::size_t left_used;        // before
    std::unique_ptr<Node> right;  // empty; null if only its size changed
  };
  struct Joins {
    std::vector<Join> joins;                   // from the leaf upwards
    std::vector<std::unique_ptr<Node>> roots;  // with a single child
  };

  void insert(Node& node, const Element& element, bool is_rightmost, Insertion& done);
  void split(Node& parent, std::size_t child, std::size_t left_used, Insertion& done);
  void unsplit(const Insertion& done);
  void erase(Node& node, const Element& element, Removal& done);
  void join(Node& parent, std::size_t left_child, Joins& done);
  void unjoin(Joins& done);
  static void level(Node& left, Node& right, std::size_t left_used);
  static void erase_alone(Node& node, const Element& element);
  static void insert_next_to(Node& node, const Element& element, const Element* neighbour);
  static void insert_into_leaf(Node& leaf, const Element& element);
  static std::size_t child_of(const Node& node, const Element& element);
  [[nodiscard]] bool may_join(const Element& erased, std::size_t& height) const;

  template <class Before>
  static std::size_t children_before(const Node& node, Before before) {
    const auto end = std::partition_point(node.children.begin(), node.children.end(),
                                          [&](const Child& child) { return before(*child.first); });
    return static_cast<std::size_t>(end - node.children.begin());
  }
  template <class Before>
  static std::size_t elements_before(const Node& leaf, Before before) {
    const auto end = std::partition_point(leaf.elements.begin(), leaf.elements.end(),
                                          [&](const Element* element) { return before(*element); });
    return static_cast<std::size_t>(end - leaf.elements.begin());
  }

  template <class Visit>
  static void visit_up(const Node& node, std::size_t first, std::size_t last, Visit& visit);
  template <class Visit>
  static void visit_down(const Node& node, std::size_t first, std::size_t last, Visit& visit);
  static std::size_t measured_bytes(const Node& node);

  std::unique_ptr<Node> root_;
  std::size_t bytes_ = 0;  // of all nodes
};

template <class Before>
std::size_t SortedSetOrder::count_before(Before before) const {
  if (root_ == nullptr) return 0;
  std::size_t count = 0;
  const Node* node = root_.get();
  while (!node->is_leaf()) {
    const std::size_t children = children_before(*node, before);
    if (children == 0) return count;
    for (std::size_t i = 0; i + 1 < children; ++i) count += node->children[i].size;
    node = node->children[children - 1].node.get();  // the one in which it ends
  }
  return count + elements_before(*node, before);
}

template <class Visit>
void SortedSetOrder::visit_up(const Node& node, std::size_t first, std::size_t last, Visit& visit) {
  if (node.is_leaf()) {
    for (std::size_t i = first; i < last; ++i) visit(*node.elements[i]);
    return;
  }
  std::size_t begin = 0;
  for (const Child& child : node.children) {
    if (begin >= last) return;
    const std::size_t end = begin + child.size;
    if (end > first)
      visit_up(*child.node, std::max(first, begin) - begin, std::min(last, end) - begin, visit);
    begin = end;
  }
}

template <class Visit>
void SortedSetOrder::visit_down(const Node& node, std::size_t first, std::size_t last,
                                Visit& visit) {
  if (node.is_leaf()) {
    for (std::size_t i = last; i > first; --i) visit(*node.elements[i - 1]);
    return;
  }
  std::size_t end = node.size();
  for (std::size_t i = node.children.size(); i > 0 && end > first; --i) {
    const auto& child = node.children[i - 1];
    const std::size_t begin = end - child.size;
    if (begin < last) {
      visit_down(*child.node, std::max(first, begin) - begin, std::min(last, end) - begin, visit);
    }
    end = begin;
  }
}

}  // namespace rushgate
