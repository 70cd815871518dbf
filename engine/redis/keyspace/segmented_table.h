// The hash table under everything in the keyspace: open addressing in segments of bounded size,
// found through a directory (extendible hashing). A full segment is split in two, so an insertion
// never moves more than kSlotsMax items however large the table is.
//
//   directory (2^depth pointers, chosen by the hash's top bits)
//     ├─ 00 ─┐
//     ├─ 01 ─┴─> segment, depth 1: [tags: one byte a slot][items]
//     ├─ 10 ───> segment, depth 2
//     └─ 11 ───> segment, depth 2
//
//   tag: 0 if the slot is free, else 0x80 | seven low bits of the hash
//
// The order of iteration depends on the items, their history and the seed alone: the same run gives
// the same order on any machine.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/core/base/heap.h"
#include "engine/core/base/prefetch.h"
#include "engine/core/base/random.h"

namespace rushgate {

/// Keys prefetched at once: about as many as a processor has cache misses in flight.
constexpr std::size_t kWarmedMax = 16;

/// `Policy` defines the items:
///   using Item = …;  // movable
///   // for Item, and for each type of key that is looked up:
///   static std::uint64_t hash(const Key& key, std::uint64_t seed);
///   static bool matches(const Item& item, const Key& key);
/// Not thread-safe. Pointers to items are valid until the next insertion or removal.
///
/// An insertion that throws (out of memory) has no effect. Segments never shrink, so a removed item
/// is inserted again without memory, regardless of the insertions and removals in
/// between.
template <class Policy>
class SegmentedTable {
 public:
  using Item = typename Policy::Item;
  static_assert(std::is_nothrow_move_constructible_v<Item>);

  static constexpr std::uint32_t kSlotsMin = 8;
  static constexpr std::uint32_t kSlotsMax = 1024;

  explicit SegmentedTable(std::uint64_t seed = 0) : seed_(seed) {}
  ~SegmentedTable() { clear(); }

  SegmentedTable(SegmentedTable&& other) noexcept { swap(other); }
  SegmentedTable& operator=(SegmentedTable&& other) noexcept {
    SegmentedTable taken(std::move(other));
    swap(taken);
    return *this;
  }
  SegmentedTable(const SegmentedTable&) = delete;
  SegmentedTable& operator=(const SegmentedTable&) = delete;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

  template <class Key>
  [[nodiscard]] Item* find(const Key& key) {
    if (size_ == 0) return nullptr;
    const std::uint64_t hash = Policy::hash(key, seed_);
    Segment& segment = *segment_of(hash);
    const std::uint32_t slot = find_slot(segment, hash, is_of(key));
    return slot == kNone ? nullptr : &segment.item(slot);
  }
  template <class Key>
  [[nodiscard]] const Item* find(const Key& key) const {
    return const_cast<SegmentedTable*>(this)->find(key);
  }
  template <class Key>
  [[nodiscard]] bool contains(const Key& key) const {
    return find(key) != nullptr;
  }

  /// Copies all items of `other`, segment by segment. The table must be empty, and still is if it
  /// throws (out of memory).
  void copy_from(const SegmentedTable& other) {
    assert(directory_.empty());
    SegmentedTable made(other.seed_);
    made.depth_ = other.depth_;
    made.directory_.reserve(other.directory_.size());
    for (std::size_t i = 0; i < other.directory_.size();) {
      Segment& from = *other.directory_[i];
      Segment* const segment = made.make_segment(from.slots, from.depth);
      const std::size_t entries = other.entries_of(from);
      made.directory_.insert(made.directory_.end(), entries, segment);
      copy_items(from, *segment);
      i += entries;
    }
    made.size_ = other.size_;
    swap(made);
  }

  /// The item must not be in the table.
  Item& insert(Item item) {
    const std::uint64_t hash = Policy::hash(item, seed_);
    if (directory_.empty()) make_first_segment();
    return insert_hashed(*segment_of(hash), std::move(item), hash);
  }

  /// Reserves memory: the next insertion of this key throws nothing.
  template <class Key>
  void reserve_for(const Key& key) {
    const std::uint64_t hash = Policy::hash(key, seed_);
    if (directory_.empty()) make_first_segment();
    segment_with_room(*segment_of(hash), hash);
  }

  /// Returns the item matching `key` and false, or the new item of make() and true.
  template <class Key, class Make>
  std::pair<Item*, bool> find_or_insert(const Key& key, Make make) {
    const std::uint64_t hash = Policy::hash(key, seed_);
    if (directory_.empty()) make_first_segment();
    Segment* segment = segment_of(hash);
    const std::uint32_t slot = find_slot(*segment, hash, is_of(key));
    if (slot != kNone) return {&segment->item(slot), false};
    return {&insert_hashed(*segment, make(), hash), true};
  }

  /// Prefetches the memory of searches for these keys, at most kWarmedMax, so that cache misses
  /// overlap. Calls visit(const Item&) for the probable item of each. Does nothing for a small
  /// table, which is cached.
  template <class Key, class Visit>
  void warm(std::span<const Key> keys, Visit visit) const {
    assert(keys.size() <= kWarmedMax);
    if (depth_ == 0) return;
    std::array<std::uint64_t, kWarmedMax> hashes;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      hashes[i] = Policy::hash(keys[i], seed_);
      fetch(hashes[i]);
    }
    for (const std::uint64_t hash : std::span(hashes).first(keys.size())) {
      Segment& segment = *segment_of(hash);
      const std::uint32_t slot = find_slot(segment, hash, [](const Item&) { return true; });
      if (slot != kNone) visit(std::as_const(segment.item(slot)));
    }
  }

  /// Inserts the missing items, and calls visit(const Item&, bool was_missing) after each, until it
  /// returns false. For items that are their own keys. Faster than single insertions in a large
  /// table.
  template <class Visit>
  void insert_missing(std::span<const Item> items, Visit visit) {
    while (!items.empty()) {
      const auto some = items.first(std::min(kWarmedMax, items.size()));
      for (const Item& item : some) fetch(Policy::hash(item, seed_));
      for (const Item& item : some) {
        if (!visit(item, find_or_insert(item, [&item] { return item; }).second)) return;
      }
      items = items.subspan(some.size());
    }
  }

  /// Returns false if there was none.
  template <class Key>
  bool erase(const Key& key) {
    return take(key, nullptr);
  }

  /// As erase(); moves the item to `*taken`, if given.
  template <class Key>
  bool take(const Key& key, Item* taken) {
    if (size_ == 0) return false;
    const std::uint64_t hash = Policy::hash(key, seed_);
    Segment& segment = *segment_of(hash);
    const std::uint32_t slot = find_slot(segment, hash, is_of(key));
    if (slot == kNone) return false;
    if (taken != nullptr) *taken = std::move(segment.item(slot));
    close_gap(segment, slot);
    --size_;
    return true;
  }

  /// Calls visit(Item&) for each item. `visit` must not insert or remove.
  template <class Visit>
  void for_each(Visit visit) {
    for (std::size_t i = 0; i < directory_.size(); i += entries_of(*directory_[i])) {
      for_each_in(*directory_[i], visit);
    }
  }
  template <class Visit>
  void for_each(Visit visit) const {
    const_cast<SegmentedTable*>(this)->for_each([&](const Item& item) { visit(item); });
  }

  // ---- In steps: see table_walk.h ----

  static constexpr unsigned kPositionBits = 48;  // a double holds it
  static constexpr std::uint64_t kPositionEnd = std::uint64_t{1} << kPositionBits;

  /// Calls visit(Item&, position) for each item of the segment of `position`, which must be below
  /// the end. `visit` must not insert or remove. Returns the first position after the segment.
  template <class Visit>
  std::uint64_t visit_segment(std::uint64_t position, Visit visit) {
    constexpr unsigned kBelow = 64 - kPositionBits;
    if (directory_.empty()) return kPositionEnd;
    Segment& segment = *segment_of(position << kBelow);
    for_each_in(segment, [&](Item& item) { visit(item, Policy::hash(item, seed_) >> kBelow); });
    const unsigned rest = kPositionBits - std::min(segment.depth, kPositionBits);
    return ((position >> rest) + 1) << rest;
  }
  template <class Visit>
  std::uint64_t visit_segment(std::uint64_t position, Visit visit) const {
    return const_cast<SegmentedTable*>(this)->visit_segment(
        position, [&](const Item& item, std::uint64_t at) { visit(item, at); });
  }

  // ---- Random draws ----

  /// Returns a random item; there must be one. All are equally likely, except that items of a
  /// segment above kSlotsMax are less likely.
  [[nodiscard]] const Item& draw(Random& random) const {
    assert(size_ > 0);
    // Draws a segment, then a slot (all have as many), until the slot is not free.
    constexpr int kTries = 100;
    for (int i = 0; i < kTries; ++i) {
      const std::size_t entry = random.below(directory_.size());
      Segment& segment = *directory_[entry];
      if ((entry & (entries_of(segment) - 1)) != 0) continue;
      const auto slot = static_cast<std::uint32_t>(random.below(segment.slots));
      if (segment.tags()[slot] != kFree) return segment.item(slot);
    }
    return item_at(random.below(size_));  // most slots are free
  }

  void clear() {
    for (std::size_t i = 0; i < directory_.size();) {
      Segment* segment = directory_[i];
      i += entries_of(*segment);
      destroy_segment(segment);
    }
    directory_.clear();
    depth_ = 0;
    size_ = 0;
  }

  /// Returns the memory, without memory owned by the items.
  [[nodiscard]] std::size_t memory_bytes() const { return segment_bytes_ + heap_bytes(directory_); }
  /// Computes the memory from the contents, for tests.
  [[nodiscard]] std::size_t measured_bytes() const {
    std::size_t bytes = heap_bytes(directory_);
    for (std::size_t i = 0; i < directory_.size(); i += entries_of(*directory_[i])) {
      bytes += heap_block(Segment::bytes(directory_[i]->slots));
    }
    return bytes;
  }

  void swap(SegmentedTable& other) noexcept {
    std::swap(seed_, other.seed_);
    std::swap(directory_, other.directory_);
    std::swap(depth_, other.depth_);
    std::swap(size_, other.size_);
    std::swap(segment_bytes_, other.segment_bytes_);
  }

 private:
  static constexpr std::uint8_t kFree = 0;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  // The directory may exceed the depth required by the number of items by this; beyond it, a
  // segment grows and does not split. Only hashes with many common top bits (an unlucky or hostile
  // choice of keys) cause that.
  static constexpr std::uint32_t kDepthSlack = 6;

  struct Segment {
    std::uint32_t slots;  // a power of two
    std::uint32_t used;
    std::uint32_t depth;  // number of common top bits of its items' hashes

    static constexpr std::size_t items_offset(std::uint32_t slots) {
      const std::size_t tags_end = sizeof(Segment) + slots;
      return (tags_end + alignof(Item) - 1) / alignof(Item) * alignof(Item);
    }
    static constexpr std::size_t bytes(std::uint32_t slots) {
      return items_offset(slots) + slots * sizeof(Item);
    }

    static Segment* make(std::uint32_t slots, std::uint32_t depth) {
      static_assert(alignof(Item) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
      void* memory = ::operator new(bytes(slots));
      auto* segment = new (memory) Segment{slots, 0, depth};
      std::memset(segment->tags(), kFree, slots);
      return segment;
    }
    static void destroy(Segment* segment) {
      for (std::uint32_t slot = 0; slot < segment->slots; ++slot) {
        if (segment->tags()[slot] != kFree) std::destroy_at(&segment->item(slot));
      }
      ::operator delete(segment);
    }

    std::uint8_t* tags() { return reinterpret_cast<std::uint8_t*>(this) + sizeof(Segment); }
    Item& item(std::uint32_t slot) {
      auto* items = reinterpret_cast<std::byte*>(this) + items_offset(slots);
      return *std::launder(reinterpret_cast<Item*>(items + slot * sizeof(Item)));
    }
    [[nodiscard]] bool is_full() const { return used >= slots - slots / 5; }
  };

  void make_first_segment() {
    directory_.reserve(1);
    directory_.push_back(make_segment(kSlotsMin, 0));
  }
  Segment* make_segment(std::uint32_t slots, std::uint32_t depth) {
    Segment* const segment = Segment::make(slots, depth);
    segment_bytes_ += heap_block(Segment::bytes(slots));
    return segment;
  }
  void destroy_segment(Segment* segment) {
    segment_bytes_ -= heap_block(Segment::bytes(segment->slots));
    Segment::destroy(segment);
  }

  static std::uint8_t tag_of(std::uint64_t hash) {
    return static_cast<std::uint8_t>(0x80U | (hash & 0x7FU));
  }
  static std::uint32_t home_in(std::uint32_t slots, std::uint64_t hash) {
    return static_cast<std::uint32_t>(hash >> 7) & (slots - 1);
  }
  static std::uint32_t home_of(const Segment& segment, std::uint64_t hash) {
    return home_in(segment.slots, hash);
  }

  Segment* segment_of(std::uint64_t hash) const {
    return directory_[depth_ == 0 ? 0 : hash >> (64 - depth_)];
  }
  std::size_t entries_of(const Segment& segment) const {
    return std::size_t{1} << (depth_ - segment.depth);
  }

  /// Prefetches the memory of a search for this hash.
  void fetch(std::uint64_t hash) const {
    if (depth_ == 0) return;  // small: it is cached
    const auto* begin = reinterpret_cast<const std::byte*>(segment_of(hash));
    // The slot in a segment of the usual size. Reading the real size would wait for memory. It is
    // never smaller, because only segments of the usual size are split.
    const std::uint32_t home = home_in(kSlotsMax, hash);
    prefetch(begin);
    prefetch(begin + sizeof(Segment) + home);
    prefetch(begin + Segment::items_offset(kSlotsMax) + home * sizeof(Item));
  }

  /// Copies into an empty segment of the same size.
  static void copy_items(Segment& from, Segment& to) {
    if constexpr (std::is_trivially_copyable_v<Item>) {
      std::memcpy(to.tags(), from.tags(), Segment::bytes(from.slots) - sizeof(Segment));
      to.used = from.used;
    } else {
      for (std::uint32_t slot = 0; slot < from.slots; ++slot) {
        if (from.tags()[slot] == kFree) continue;
        new (&to.item(slot)) Item(std::as_const(from.item(slot)));
        to.tags()[slot] = from.tags()[slot];
        ++to.used;
      }
    }
  }

  template <class Visit>
  static void for_each_in(Segment& segment, Visit visit) {
    if (segment.used == 0) return;
    for (std::uint32_t slot = 0; slot < segment.slots; ++slot) {
      if (segment.tags()[slot] != kFree) visit(segment.item(slot));
    }
  }

  /// Returns an item by its index in the order of for_each().
  const Item& item_at(std::size_t index) const {
    std::size_t entry = 0;
    for (; index >= directory_[entry]->used; entry += entries_of(*directory_[entry])) {
      index -= directory_[entry]->used;
    }
    Segment& segment = *directory_[entry];
    std::uint32_t slot = 0;
    while (segment.tags()[slot] == kFree || index-- > 0) ++slot;
    return segment.item(slot);
  }

  template <class Key>
  static auto is_of(const Key& key) {
    return [&key](const Item& item) { return Policy::matches(item, key); };
  }

  /// Returns the slot of the item with this hash and matches(const Item&), or kNone.
  template <class Matches>
  static std::uint32_t find_slot(Segment& segment, std::uint64_t hash, Matches matches) {
    const std::uint8_t tag = tag_of(hash);
    const std::uint8_t* tags = segment.tags();
    const std::uint32_t mask = segment.slots - 1;
    for (std::uint32_t slot = home_of(segment, hash); tags[slot] != kFree;
         slot = (slot + 1) & mask) {
      if (tags[slot] == tag && matches(segment.item(slot))) return slot;
    }
    return kNone;
  }

  Item& insert_hashed(Segment& into, Item&& item, std::uint64_t hash) {
    Segment& segment = segment_with_room(into, hash);
    ++size_;
    return place(segment, std::move(item), hash);
  }

  Segment& segment_with_room(Segment& first, std::uint64_t hash) {
    Segment* segment = &first;
    while (segment->is_full()) {
      make_space(segment, hash);
      segment = segment_of(hash);
    }
    return *segment;
  }

  static Item& place(Segment& segment, Item&& item, std::uint64_t hash) {
    const std::uint32_t mask = segment.slots - 1;
    std::uint32_t slot = home_of(segment, hash);
    while (segment.tags()[slot] != kFree) slot = (slot + 1) & mask;
    segment.tags()[slot] = tag_of(hash);
    ++segment.used;
    return *new (&segment.item(slot)) Item(std::move(item));
  }

  /// Removes the item at `gap` and moves the following ones back, so that searches need no
  /// tombstones.
  void close_gap(Segment& segment, std::uint32_t gap) {
    const std::uint32_t mask = segment.slots - 1;
    std::uint8_t* tags = segment.tags();
    for (std::uint32_t slot = (gap + 1) & mask; tags[slot] != kFree; slot = (slot + 1) & mask) {
      const std::uint32_t home = home_of(segment, Policy::hash(segment.item(slot), seed_));
      const bool may_move = ((slot - home) & mask) >= ((slot - gap) & mask);
      if (!may_move) continue;
      segment.item(gap) = std::move(segment.item(slot));
      tags[gap] = tags[slot];
      gap = slot;
    }
    std::destroy_at(&segment.item(gap));
    tags[gap] = kFree;
    --segment.used;
  }

  /// If it throws, no item has moved.
  void make_space(Segment* segment, std::uint64_t hash) {
    const std::uint32_t depth_wanted =
        static_cast<std::uint32_t>(std::bit_width(size_ / kSlotsMax)) + kDepthSlack;
    if (segment->slots < kSlotsMax || segment->depth >= depth_wanted) {
      Segment* larger = make_segment(segment->slots * 2, segment->depth);
      move_items(*segment, [&](std::uint64_t) { return larger; });
      replace(segment, hash, larger, larger);
      return;
    }
    if (segment->depth == depth_) double_directory();
    // Each half has the size of the whole: all items may move to one side, and a segment above
    // kSlotsMax would not fit into less.
    Segment* low = make_segment(segment->slots, segment->depth + 1);
    Segment* high = nullptr;
    try {
      high = make_segment(segment->slots, segment->depth + 1);
    } catch (...) {
      destroy_segment(low);
      throw;
    }
    const std::uint64_t bit = std::uint64_t{1} << (63 - segment->depth);
    move_items(*segment,
               [&](std::uint64_t item_hash) { return (item_hash & bit) != 0 ? high : low; });
    replace(segment, hash, low, high);
  }

  template <class Choose>
  void move_items(Segment& from, Choose choose) {
    for (std::uint32_t slot = 0; slot < from.slots; ++slot) {
      if (from.tags()[slot] == kFree) continue;
      const std::uint64_t hash = Policy::hash(from.item(slot), seed_);
      place(*choose(hash), std::move(from.item(slot)), hash);
    }
  }

  /// Replaces the directory's entries for `old`: the first half by `low`, the second by `high`.
  void replace(Segment* old, std::uint64_t hash, Segment* low, Segment* high) {
    const std::size_t count = entries_of(*old);
    const std::size_t begin = (depth_ == 0 ? 0 : hash >> (64 - depth_)) & ~(count - 1);
    for (std::size_t i = 0; i < count; ++i)
      directory_[begin + i] = i < (count + 1) / 2 ? low : high;
    destroy_segment(old);
  }

  void double_directory() {
    std::vector<Segment*> doubled;
    doubled.reserve(directory_.size() * 2);
    for (Segment* segment : directory_) {
      doubled.push_back(segment);
      doubled.push_back(segment);
    }
    directory_ = std::move(doubled);
    ++depth_;
  }

  std::uint64_t seed_ = 0;
  std::vector<Segment*> directory_;
  std::uint32_t depth_ = 0;  // directory_.size() == 2^depth_
  std::size_t size_ = 0;
  std::size_t segment_bytes_ = 0;
};

}  // namespace rushgate
