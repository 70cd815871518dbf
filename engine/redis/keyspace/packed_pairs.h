// The pairs of a small hash or sorted set, packed in their order in one block of memory:
//
//   [capacity: 4 bytes][used: 4][pairs: 4][next position: 4], and for each pair:
//   [field's length: varint][length of the rest: varint][field][position: varint][value]
//
// A field is found by a linear search, as in Redis's listpacks. A pair has a place, the offset of
// its bytes, and a position, a number that ascends with the order and is stored in its record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/core/base/heap.h"

namespace rushgate {

/// Not thread-safe. A change that throws (out of memory) has no effect. Only shrink() releases
/// memory, so changes are undone without memory, the newest first.
class PackedPairs {
 public:
  /// The place of no pair. A place is valid until a pair before it changes its size.
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  /// Bound for all pairs.
  static constexpr std::size_t kBytesMax = std::size_t{1} << 30;
  /// Bound for positions.
  static constexpr std::uint32_t kPositionMax = std::numeric_limits<std::uint32_t>::max() - 1;

  /// Valid until the next change.
  struct Pair {
    std::size_t place = kNone;
    std::string_view field;
    std::string_view value;
    std::uint32_t position = 0;
    std::size_t end = kNone;  // the place of the next pair
  };

  [[nodiscard]] std::size_t size() const { return block_ == nullptr ? 0 : header().pairs; }
  /// Returns the bytes of all pairs.
  [[nodiscard]] std::size_t bytes() const { return block_ == nullptr ? 0 : header().used; }
  /// Returns the position of the next pair that is appended: above all others.
  [[nodiscard]] std::uint32_t next_position() const {
    return block_ == nullptr ? 0 : header().next_position;
  }
  /// Returns the pair of the field; its place is kNone if there is none.
  [[nodiscard]] Pair find(std::string_view field) const;
  /// Returns the value of the field, if it exists.
  [[nodiscard]] std::optional<std::string_view> value_of(std::string_view field) const;
  /// Returns the pair at a place.
  [[nodiscard]] Pair at(std::size_t place) const;
  /// Returns the pair of this index, which must exist.
  [[nodiscard]] Pair by_index(std::size_t index) const;
  /// Calls visit(std::string_view field, std::string_view value).
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t place = 0; place < bytes();) {
      const Pair pair = at(place);
      visit(pair.field, pair.value);
      place = pair.end;
    }
  }

  /// Inserts a pair at `place`, which is that of another pair or bytes(). Its field must be new.
  void insert(std::size_t place, std::string_view field, std::string_view value,
              std::uint32_t position);
  /// Replaces the value of a pair.
  void assign(const Pair& pair, std::string_view value);
  void erase(const Pair& pair);
  /// Moves the pair at `place` so that it begins at `new_place`, between two of the others. Needs no
  /// memory.
  void move(std::size_t place, std::size_t new_place);

  /// Puts the pairs into the order of their positions. Pairs with equal positions keep their order.
  void sort();

  /// Returns true if shrink() would release memory.
  [[nodiscard]] bool wants_to_shrink() const;
  /// Releases unused memory, if there is memory for the copy. Earlier changes can no longer be
  /// undone.
  void shrink();

  /// Returns the memory on the heap.
  [[nodiscard]] std::size_t memory_bytes() const {
    return block_ == nullptr ? 0 : heap_block(sizeof(Header) + header().capacity);
  }

 private:
  struct Header {
    std::uint32_t capacity;  // bytes for pairs
    std::uint32_t used;      // of these
    std::uint32_t pairs;
    std::uint32_t next_position;
  };
  struct Deleter {
    void operator()(Header* block) const { ::operator delete(block); }
  };
  using Block = std::unique_ptr<Header, Deleter>;
  /// The bytes of a pair.
  struct Match {
    const char* pair = nullptr;
    const char* rest = nullptr;  // position and value
    std::size_t rest_bytes = 0;
  };

  [[nodiscard]] Match match(std::string_view field) const;
  [[nodiscard]] Pair pair_of(const Match& match, std::size_t field_bytes) const;
  [[nodiscard]] const Header& header() const { return *block_; }
  [[nodiscard]] Header& header() { return *block_; }
  [[nodiscard]] const char* pairs() const {
    return reinterpret_cast<const char*>(block_.get() + 1);
  }
  [[nodiscard]] char* pairs() { return reinterpret_cast<char*>(block_.get() + 1); }

  static Block make_block(std::size_t bytes_wanted);
  void take_over(Block made);
  void move_to_block(std::size_t bytes_wanted);
  void reserve(std::size_t bytes_wanted);
  void resize_gap(std::size_t place, std::size_t old_bytes, std::size_t new_bytes);

  Block block_;
};

}  // namespace rushgate
