#include "engine/keyspace/list_block.h"

#include <bit>
#include <cstring>
#include <iterator>
#include <utility>

#include "engine/base/numbers.h"
#include "engine/base/varint.h"

namespace rushgate {
namespace {

static_assert(std::endian::native == std::endian::little);

/// How many bytes hold the number: none for 0.
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

std::size_t ListBlock::packed_size(const Scalar& element) {
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

/// Where it begins.
std::uint16_t ListBlock::append(const Scalar& element) {
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

bool ListBlock::equals(std::size_t at, const Scalar& element) const {
  const Packed own = packed(at);
  if (own.is_integer != element.is_integer()) return false;
  return own.is_integer ? integer(own) == element.integer() : own.bytes == element.text();
}

bool ListBlock::has_room_for(const Scalar& element) const {
  return size() == 0 || bytes_.size() - wasted_ + packed_size(element) <= kBytesMax;
}

void ListBlock::insert(std::size_t at, ListPosition position, const Scalar& element) {
  make_room(element);
  begins_.insert(std::next(begins_.begin(), static_cast<std::ptrdiff_t>(at)), append(element));
  positions_.insert(at, position);
}

void ListBlock::assign(std::size_t at, const Scalar& element) {
  make_room(element);
  waste(at);
  if (size() == 1) forget_bytes();
  begins_[at] = append(element);
  if (is_mostly_waste()) pack_anew();
}

void ListBlock::erase(std::size_t at) {
  waste(at);
  begins_.erase(std::next(begins_.begin(), static_cast<std::ptrdiff_t>(at)));
  positions_.erase(at);
  if (is_mostly_waste()) pack_anew();
}

/// The bytes of an element that goes.
void ListBlock::waste(std::size_t at) {
  const std::size_t size = packed(at).size;
  if (begins_[at] + size == bytes_.size()) {
    bytes_.resize(begins_[at]);
  } else {
    wasted_ += static_cast<std::uint32_t>(size);
  }
}

void ListBlock::make_room(const Scalar& element) {
  if (wasted_ > 0 && bytes_.size() + packed_size(element) > kBytesMax) pack_anew();
}

void ListBlock::forget_bytes() {
  bytes_.clear();
  wasted_ = 0;
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
  if (is_mostly_waste()) pack_anew();
  return taken;
}

void ListBlock::shrink() {
  bytes_.shrink_to_fit();
  begins_.shrink_to_fit();
}

void ListBlock::pack_anew() {
  std::string bytes;
  for (std::uint16_t& begin : begins_) {
    const std::size_t size = packed_at(begin).size;
    const auto moved_to = static_cast<std::uint16_t>(bytes.size());
    bytes.append(bytes_, begin, size);
    begin = moved_to;
  }
  bytes_ = std::move(bytes);
  wasted_ = 0;
}

}  // namespace rushgate
