// A few kilobytes of a list: neighbouring elements, packed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "engine/base/heap.h"
#include "engine/keyspace/list_positions.h"
#include <rushgate/maybe_integer.h>

namespace rushgate {

/// A short element takes three bytes (offset and length) in addition to its bytes; integers are
/// stored in binary. Bytes are in order of insertion, not of the list. The bytes of removed
/// elements are waste until they exceed the rest.
class ListBlock {
 public:
  /// Bound for a block with more than one element.
  static constexpr std::size_t kBytesMax = 7'680;

  [[nodiscard]] std::size_t size() const { return begins_.size(); }
  [[nodiscard]] bool has_space_for(const MaybeInteger& element) const;

  [[nodiscard]] std::string operator[](std::size_t at) const;
  [[nodiscard]] bool equals(std::size_t at, const MaybeInteger& element) const;
  [[nodiscard]] const ListPositions& positions() const { return positions_; }
  [[nodiscard]] ListPositions& positions() { return positions_; }

  // A change that throws (out of memory) has no effect. Only shrink() releases memory, so undoing
  // the newest change needs none.

  /// Inserts before the element at `at`. There must be space.
  void insert(std::size_t at, ListPosition position, const MaybeInteger& element);
  /// Replaces the element at `at`. There must be space, or it must be the only one.
  void assign(std::size_t at, const MaybeInteger& element);
  void erase(std::size_t at);
  /// Splits off the elements from `at` on.
  ListBlock take_from(std::size_t at);
  /// Undoes take_from().
  void append(const ListBlock& taken);

  /// Permits shrink() to release memory, because no change is expected or much was removed.
  void ask_to_shrink() { wants_to_shrink_ = true; }
  [[nodiscard]] bool wants_to_shrink() const { return wants_to_shrink_; }
  /// Releases unused memory, if there is memory for the copy.
  void shrink();

  /// Returns the memory on the heap.
  [[nodiscard]] std::size_t memory_bytes() const {
    const bool is_inlined = begins_.capacity() <= kBeginsInlined;
    return heap_bytes(bytes_) + positions_.memory_bytes() +
           (is_inlined ? 0 : heap_block(begins_.capacity() * sizeof(std::uint16_t)));
  }

 private:
  static constexpr std::size_t kBeginsInlined = 8;

  struct Packed {
    bool is_integer;
    std::string_view bytes;  // the string, or the integer
    std::size_t size;        // in bytes_
  };
  [[nodiscard]] Packed packed_at(std::size_t byte) const;
  [[nodiscard]] Packed packed(std::size_t at) const { return packed_at(begins_[at]); }
  static std::int64_t integer(const Packed& element);
  static std::size_t packed_size(const MaybeInteger& element);
  std::uint16_t append(const MaybeInteger& element);
  [[nodiscard]] bool is_mostly_waste() const { return wasted_ > bytes_.size() / 2; }
  void reserve(const MaybeInteger& element);
  void waste(std::size_t at);
  void repack();

  std::string bytes_;  // an element: varint: length << 1, + 1 if an integer; the bytes, or the
                       // folded integer, its lowest byte first
  absl::InlinedVector<std::uint16_t, kBeginsInlined>
      begins_;                // in bytes_; in the order of the list
  std::uint32_t wasted_ = 0;  // wasted bytes of bytes_
  bool wants_to_shrink_ = false;
  ListPositions positions_;
};

}  // namespace rushgate
