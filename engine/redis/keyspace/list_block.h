// A few kilobytes of a list: neighbouring elements, packed in one block of memory:
//
//   [Header][positions: 8 bytes each][where elements begin: 2 bytes each][bytes of elements]
//
// While the distances of the positions are equal, only the first is stored, and there need be no
// space for others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>

#include "engine/core/base/heap.h"
#include "engine/redis/keyspace/list_positions.h"
#include <rushgate/maybe_integer.h>

namespace rushgate {

/// A short element takes three bytes (its beginning and length) in addition to its bytes; integers
/// are stored in binary. Bytes are in order of insertion, not of the list. The bytes of removed
/// elements are waste until they exceed the rest.
///
/// A change that throws (out of memory) has no effect. Only shrink() releases memory, so undoing
/// the newest change needs none.
class ListBlock {
 public:
  /// Bound for a block with more than one element.
  static constexpr std::size_t kBytesMax = 7'680;

  [[nodiscard]] std::size_t size() const { return block_ == nullptr ? 0 : header().size; }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] bool has_space_for(const MaybeInteger& element) const;

  [[nodiscard]] std::string operator[](std::size_t at) const;
  [[nodiscard]] bool equals(std::size_t at, const MaybeInteger& element) const;

  /// Inserts before the element at `at`. There must be space.
  void insert(std::size_t at, ListPosition position, const MaybeInteger& element);
  /// Replaces the element at `at`. There must be space, or it must be the only one.
  void assign(std::size_t at, const MaybeInteger& element);
  void erase(std::size_t at);
  /// Splits off the elements from `at` on, which is not the first one.
  ListBlock take_from(std::size_t at);
  /// Undoes take_from().
  void append(const ListBlock& taken);

  // ---- Positions (list_block_positions.cc) ----

  [[nodiscard]] ListPosition position(std::size_t at) const {
    return is_regular() ? header().first + at * kListStep : positions()[at];
  }
  [[nodiscard]] ListPosition last_position() const { return position(size() - 1); }
  /// Returns true if the positions are known to have equal distances.
  [[nodiscard]] bool is_regular() const { return block_ == nullptr || header().is_regular; }
  /// Restores equal distances, when a change is undone before which they existed.
  void make_regular();
  /// Reserves memory: set_position() throws nothing then.
  void prepare_repositioning();
  /// Changes the position of an element. The order may be wrong until the neighbours are changed,
  /// too; make_regular_if_equal() must follow.
  void set_position(std::size_t at, ListPosition position);
  void make_regular_if_equal();

  // ---- Memory ----

  /// Permits shrink() to release memory, because no change is expected or much was removed.
  void ask_to_shrink() {
    if (block_ != nullptr) header().wants_to_shrink = true;
  }
  [[nodiscard]] bool wants_to_shrink() const {
    return block_ != nullptr && header().wants_to_shrink;
  }
  /// Releases unused memory, if there is memory for the copy.
  void shrink();

  /// Returns the memory on the heap.
  [[nodiscard]] std::size_t memory_bytes() const {
    return block_ == nullptr ? 0 : heap_block(block_bytes(shape(), header().capacity));
  }

 private:
  struct Header {
    ListPosition first;      // the first position, if they are regular
    std::uint32_t capacity;  // bytes for elements
    std::uint32_t used;      // of these
    std::uint16_t wasted;    // of these
    std::uint16_t size;      // elements
    std::uint16_t slots;     // elements for which there is space, apart from their bytes
    bool has_positions : 1;  // there is space for positions
    bool is_regular : 1;     // and it is unused
    bool wants_to_shrink : 1;
  };
  static_assert(sizeof(Header) == 24);
  struct Deleter {
    void operator()(Header* block) const { ::operator delete(block); }
  };
  using Block = std::unique_ptr<Header, Deleter>;

  /// The parts of a block in front of the elements' bytes.
  struct Shape {
    std::size_t slots;
    bool has_positions;

    [[nodiscard]] std::size_t positions_bytes() const {
      return has_positions ? slots * sizeof(ListPosition) : 0;
    }
    [[nodiscard]] std::size_t bytes() const {
      return sizeof(Header) + positions_bytes() + slots * sizeof(std::uint16_t);
    }
  };
  [[nodiscard]] Shape shape() const { return {header().slots, header().has_positions}; }
  static std::size_t block_bytes(const Shape& shape, std::size_t capacity) {
    return shape.bytes() + capacity;
  }
  static Block make_block(const Shape& shape, std::size_t bytes_wanted);

  struct Packed {
    bool is_integer;
    std::string_view bytes;  // the string, or the integer, its lowest byte first
    std::size_t size;        // in the block: varint: length << 1, + 1 if an integer; the bytes
  };
  [[nodiscard]] Packed packed_at(std::size_t byte) const;
  [[nodiscard]] Packed packed(std::size_t at) const { return packed_at(begins()[at]); }
  static std::int64_t integer(const Packed& element);
  static std::size_t packed_size(const MaybeInteger& element);

  [[nodiscard]] const Header& header() const { return *block_; }
  [[nodiscard]] Header& header() { return *block_; }
  [[nodiscard]] char* part(std::size_t offset) const {
    return reinterpret_cast<char*>(block_.get()) + offset;
  }
  /// Returns the positions, if they are not regular.
  [[nodiscard]] std::span<const ListPosition> positions() const {
    return {std::launder(reinterpret_cast<ListPosition*>(part(sizeof(Header)))), size()};
  }
  [[nodiscard]] ListPosition* positions() {
    return std::launder(reinterpret_cast<ListPosition*>(part(sizeof(Header))));
  }
  [[nodiscard]] std::uint16_t* begins() const {
    return std::launder(
        reinterpret_cast<std::uint16_t*>(part(sizeof(Header) + shape().positions_bytes())));
  }
  [[nodiscard]] char* bytes() const { return part(shape().bytes()); }

  void reserve(std::size_t elements, bool has_positions, std::size_t more_bytes);
  void move_to_block(const Shape& shape, std::size_t bytes_wanted);
  static char* write(const MaybeInteger& element, char* to);
  std::uint16_t append(const MaybeInteger& element);
  void append_packed(const ListBlock& from, std::size_t at);
  void insert_begin(std::size_t at, std::uint16_t begin);
  void erase_begin(std::size_t at);
  [[nodiscard]] bool is_mostly_waste() const { return header().wasted > header().used / 2; }
  void waste(std::size_t at);
  void repack();

  [[nodiscard]] bool continues(std::size_t at, ListPosition position) const;
  void insert_position(std::size_t at, ListPosition position);
  void erase_position(std::size_t at);
  void spell_out();

  Block block_;  // null if it never had an element
};

}  // namespace rushgate
