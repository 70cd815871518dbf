// Some kilobytes of a list: neighbouring elements, packed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "engine/base/heap.h"
#include "engine/base/scalar.h"
#include "engine/keyspace/list_positions.h"

namespace rushgate {

/// A short element takes three bytes and its own: where it begins, its length, and its bytes, or as
/// few as hold the number that they show. Bytes lie in the order in which they came, not in that of
/// the list; those of elements that are gone are waste, until they are more than the others.
class ListBlock {
 public:
  /// Of a block with more than one element.
  static constexpr std::size_t kBytesMax = 7'680;

  [[nodiscard]] std::size_t size() const { return begins_.size(); }
  [[nodiscard]] bool has_room_for(const Scalar& element) const;

  [[nodiscard]] std::string operator[](std::size_t at) const;
  [[nodiscard]] bool equals(std::size_t at, const Scalar& element) const;
  [[nodiscard]] const ListPositions& positions() const { return positions_; }
  [[nodiscard]] ListPositions& positions() { return positions_; }

  // A change that throws, for want of memory, has changed nothing. None but shrink() gives memory
  // back: so what takes back the newest change needs none.

  /// Before the one at `at`. There must be room.
  void insert(std::size_t at, ListPosition position, const Scalar& element);
  /// Another element at the same position. There must be room, or it be the only one.
  void assign(std::size_t at, const Scalar& element);
  void erase(std::size_t at);
  /// Splits off the elements from `at` on.
  ListBlock take_from(std::size_t at);
  /// Takes back a take_from().
  void append(const ListBlock& taken);

  /// Nothing will come for a while, or much has gone: it may give memory back.
  void ask_to_shrink() { wants_to_shrink_ = true; }
  [[nodiscard]] bool wants_to_shrink() const { return wants_to_shrink_; }
  /// Takes no more memory than needed, if there is memory to move to.
  void shrink();

  /// Bytes held beside itself.
  [[nodiscard]] std::size_t memory_bytes() const {
    const bool is_inlined = begins_.capacity() <= kBeginsInlined;
    return heap_bytes(bytes_) + positions_.memory_bytes() +
           (is_inlined ? 0 : heap_block(begins_.capacity() * sizeof(std::uint16_t)));
  }

 private:
  static constexpr std::size_t kBeginsInlined = 8;

  struct Packed {
    bool is_integer;
    std::string_view bytes;  // the text, or the number
    std::size_t size;        // in bytes_
  };
  [[nodiscard]] Packed packed_at(std::size_t byte) const;
  [[nodiscard]] Packed packed(std::size_t at) const { return packed_at(begins_[at]); }
  static std::int64_t integer(const Packed& element);
  static std::size_t packed_size(const Scalar& element);
  std::uint16_t append(const Scalar& element);
  [[nodiscard]] bool is_mostly_waste() const { return wasted_ > bytes_.size() / 2; }
  void reserve(const Scalar& element);
  void waste(std::size_t at);
  void pack_anew();

  std::string bytes_;  // an element: varint: length << 1, + 1 if it is a number; the text, or the
                       // folded number, its lowest byte first
  absl::InlinedVector<std::uint16_t, kBeginsInlined>
      begins_;                // in bytes_; in the order of the list
  std::uint32_t wasted_ = 0;  // so many of bytes_
  bool wants_to_shrink_ = false;
  ListPositions positions_;
};

}  // namespace rushgate
