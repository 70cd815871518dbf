#include "engine/keyspace/list_block.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

#include "engine/base/numbers.h"
#include "engine/base/varint.h"

namespace rushgate {
namespace {

static_assert(std::endian::native == std::endian::little);

/// Returns the number of bytes of the integer: 0 for 0.
std::size_t bytes_of(std::uint64_t folded) {
  constexpr std::size_t kBits = 8;
  return (static_cast<std::size_t>(std::bit_width(folded)) + kBits - 1) / kBits;
}

std::size_t varint_bytes(std::uint64_t value) {
  std::size_t bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}

}  // namespace

// ---- One element in its bytes ----

std::size_t ListBlock::packed_size(const MaybeInteger& element) {
  if (element.is_integer()) return 1 + bytes_of(fold(element.integer()));
  return varint_bytes(element.text().size() << 1) + element.text().size();
}

ListBlock::Packed ListBlock::packed_at(std::size_t byte) const {
  const char* const begin = bytes_.data() + byte;
  const char* end = begin;
  std::uint64_t head = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto part = static_cast<std::uint8_t>(*end++);
    head |= std::uint64_t{part & 0x7FU} << shift;
    if (part < 0x80) break;
  }
  const std::size_t length = head >> 1;
  return {.is_integer = (head & 1) != 0,
          .bytes = {end, length},
          .size = static_cast<std::size_t>(end - begin) + length};
}

std::int64_t ListBlock::integer(const Packed& element) {
  std::uint64_t folded = 0;
  std::memcpy(&folded, element.bytes.data(), element.bytes.size());
  return unfold(folded);
}

/// Returns the offset of the element.
std::uint16_t ListBlock::append(const MaybeInteger& element) {
  const std::size_t begin = bytes_.size();
  if (element.is_integer()) {
    const std::uint64_t folded = fold(element.integer());
    const std::size_t length = bytes_of(folded);
    char bytes[sizeof(folded)];
    std::memcpy(bytes, &folded, sizeof(folded));
    append_varint(bytes_, length << 1 | 1);
    bytes_.append(bytes, length);
  } else {
    append_varint(bytes_, element.text().size() << 1);
    bytes_.append(element.text());
  }
  return static_cast<std::uint16_t>(begin);
}

// ---- The block ----

std::string ListBlock::operator[](std::size_t at) const {
  const Packed element = packed(at);
  if (element.is_integer) return std::string(DecimalText(integer(element)).view());
  return std::string(element.bytes);
}

bool ListBlock::equals(std::size_t at, const MaybeInteger& element) const {
  const Packed own = packed(at);
  if (own.is_integer != element.is_integer()) return false;
  return own.is_integer ? integer(own) == element.integer() : own.bytes == element.text();
}

bool ListBlock::has_space_for(const MaybeInteger& element) const {
  return size() == 0 || bytes_.size() - wasted_ + packed_size(element) <= kBytesMax;
}

void ListBlock::insert(std::size_t at, ListPosition position, const MaybeInteger& element) {
  reserve(element);
  positions_.prepare_insert(at, position);
  if (begins_.size() == begins_.capacity()) begins_.reserve(2 * begins_.size());
  begins_.insert(std::next(begins_.begin(), static_cast<std::ptrdiff_t>(at)), append(element));
  positions_.insert(at, position);
}

void ListBlock::assign(std::size_t at, const MaybeInteger& element) {
  const std::size_t kept = bytes_.size() - wasted_ - packed(at).size;
  bytes_.reserve(kept + packed_size(element));
  waste(at);
  begins_.erase(std::next(begins_.begin(), static_cast<std::ptrdiff_t>(at)));
  const std::size_t end = bytes_.size() + packed_size(element);
  if (begins_.empty() || is_mostly_waste() || end > std::min(kBytesMax, bytes_.capacity())) {
    repack();
  }
  begins_.insert(std::next(begins_.begin(), static_cast<std::ptrdiff_t>(at)), append(element));
}

void ListBlock::erase(std::size_t at) {
  positions_.erase(at);
  waste(at);
  begins_.erase(std::next(begins_.begin(), static_cast<std::ptrdiff_t>(at)));
  if (is_mostly_waste()) repack();
}

/// Counts the bytes of a removed element as waste.
void ListBlock::waste(std::size_t at) {
  const std::size_t size = packed(at).size;
  if (begins_[at] + size == bytes_.size()) {
    bytes_.resize(begins_[at]);
  } else {
    wasted_ += static_cast<std::uint32_t>(size);
  }
}

/// Reserves memory for the bytes of an element: append() needs none then.
void ListBlock::reserve(const MaybeInteger& element) {
  const std::size_t wanted = packed_size(element);
  if (wasted_ > 0 && bytes_.size() + wanted > std::min(kBytesMax, bytes_.capacity())) repack();
  bytes_.reserve(bytes_.size() + wanted);
}

ListBlock ListBlock::take_from(std::size_t at) {
  ListBlock taken;
  for (std::size_t i = at; i < size(); ++i) {
    taken.begins_.push_back(static_cast<std::uint16_t>(taken.bytes_.size()));
    taken.bytes_.append(bytes_, begins_[i], packed(i).size);
  }
  taken.positions_ = positions_.take_from(at);
  while (begins_.size() > at) {
    waste(begins_.size() - 1);
    begins_.pop_back();
  }
  if (is_mostly_waste()) repack();
  return taken;
}

void ListBlock::append(const ListBlock& taken) {
  const std::size_t wanted = taken.bytes_.size() - taken.wasted_;
  if (bytes_.size() + wanted > bytes_.capacity()) repack();
  for (std::size_t i = 0; i < taken.size(); ++i) {
    begins_.push_back(static_cast<std::uint16_t>(bytes_.size()));
    bytes_.append(taken.bytes_, taken.begins_[i], taken.packed(i).size);
  }
  positions_.append(taken.positions_);
}

void ListBlock::shrink() {
  wants_to_shrink_ = false;
  try {
    bytes_.shrink_to_fit();
    begins_.shrink_to_fit();
    positions_.shrink();
  } catch (const std::bad_alloc&) {  // the block keeps its memory
  }
}

/// Drops the waste in place. Needs no memory.
void ListBlock::repack() {
  if (begins_.empty()) {
    bytes_.clear();
  } else if (wasted_ > 0) {
    assert(bytes_.size() - wasted_ <= kBytesMax);  // a larger element is alone
    std::array<char, kBytesMax> live;
    std::size_t end = 0;
    for (std::uint16_t& begin : begins_) {
      const std::size_t size = packed_at(begin).size;
      std::memcpy(live.data() + end, bytes_.data() + begin, size);
      begin = static_cast<std::uint16_t>(end);
      end += size;
    }
    bytes_.assign(live.data(), end);
  }
  wasted_ = 0;
  ask_to_shrink();
}

}  // namespace rushgate
