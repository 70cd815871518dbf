#include "engine/redis/keyspace/list_block.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>

#include "engine/core/base/numbers.h"
#include "engine/core/base/varint.h"

namespace rushgate {
namespace {

static_assert(std::endian::native == std::endian::little);

/// Returns the number of bytes of the integer: 0 for 0.
std::size_t bytes_of(std::uint64_t folded) {
  constexpr std::size_t kBits = 8;
  return (static_cast<std::size_t>(std::bit_width(folded)) + kBits - 1) / kBits;
}

}  // namespace

// ---- One element in its bytes ----

std::size_t ListBlock::packed_size(const MaybeInteger& element) {
  if (element.is_integer()) return 1 + bytes_of(fold(element.integer()));
  return varint_bytes(element.text().size() << 1) + element.text().size();
}

ListBlock::Packed ListBlock::packed_at(std::size_t byte) const {
  const char* const begin = bytes() + byte;
  const char* end = begin;
  const std::uint64_t head = read_varint(end);
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

/// Writes an element, for which there must be space. Returns its end.
char* ListBlock::write(const MaybeInteger& element, char* to) {
  if (!element.is_integer()) {
    to = write_varint(to, element.text().size() << 1);
    return std::ranges::copy(element.text(), to).out;
  }
  const std::uint64_t folded = fold(element.integer());
  const std::size_t length = bytes_of(folded);
  to = write_varint(to, length << 1 | 1);
  std::memcpy(to, &folded, length);
  return to + length;
}

/// Appends the bytes of an element, for which there must be space. Returns where it begins.
std::uint16_t ListBlock::append(const MaybeInteger& element) {
  const std::size_t begin = header().used;
  const char* const end = write(element, bytes() + begin);
  header().used = static_cast<std::uint32_t>(end - bytes());
  assert(header().used <= header().capacity);
  return static_cast<std::uint16_t>(begin);
}

/// Appends an element of another block as the last one, for which there must be space.
void ListBlock::append_packed(const ListBlock& from, std::size_t at) {
  const std::size_t packed_bytes = from.packed(at).size;
  assert(header().used + packed_bytes <= header().capacity && header().size < header().slots);
  std::memcpy(bytes() + header().used, from.bytes() + from.begins()[at], packed_bytes);
  begins()[header().size++] = static_cast<std::uint16_t>(header().used);
  header().used += static_cast<std::uint32_t>(packed_bytes);
}

// ---- The elements ----

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
  return empty() || header().used - header().wasted + packed_size(element) <= kBytesMax;
}

void ListBlock::insert_begin(std::size_t at, std::uint16_t begin) {
  std::uint16_t* const place = begins() + at;
  std::memmove(place + 1, place, (size() - at) * sizeof(begin));
  *place = begin;
  ++header().size;
}

void ListBlock::erase_begin(std::size_t at) {
  std::uint16_t* const place = begins() + at;
  --header().size;
  std::memmove(place, place + 1, (size() - at) * sizeof(*place));
}

void ListBlock::insert(std::size_t at, ListPosition position, const MaybeInteger& element) {
  reserve(size() + 1, !continues(at, position), packed_size(element));
  insert_position(at, position);
  insert_begin(at, append(element));
}

void ListBlock::assign(std::size_t at, const MaybeInteger& element) {
  const std::size_t wanted = packed_size(element);
  if (wanted == packed(at).size) {
    write(element, bytes() + begins()[at]);
    return;
  }
  const std::size_t kept = header().used - header().wasted - packed(at).size;
  if (kept + wanted > header().capacity) move_to_block(shape(), kept + wanted);
  waste(at);
  erase_begin(at);
  const std::size_t end = header().used + wanted;
  if (empty() || is_mostly_waste() || end > std::min<std::size_t>(kBytesMax, header().capacity)) {
    repack();
  }
  insert_begin(at, append(element));
}

void ListBlock::erase(std::size_t at) {
  if (is_regular() && at != 0 && at != size() - 1) prepare_repositioning();
  erase_position(at);
  waste(at);
  erase_begin(at);
  if (is_mostly_waste()) repack();
}

/// Counts the bytes of a removed element as waste.
void ListBlock::waste(std::size_t at) {
  const std::size_t wasted = packed(at).size;
  const std::size_t begin = begins()[at];
  if (begin + wasted == header().used) {
    header().used = static_cast<std::uint32_t>(begin);
  } else {
    header().wasted = static_cast<std::uint16_t>(header().wasted + wasted);
  }
}

ListBlock ListBlock::take_from(std::size_t at) {
  std::size_t taken_bytes = 0;
  for (std::size_t i = at; i < size(); ++i) taken_bytes += packed(i).size;
  ListBlock taken;
  taken.block_ = make_block({.slots = size() - at, .has_positions = !is_regular()}, taken_bytes);
  for (std::size_t i = at; i < size(); ++i) taken.append_packed(*this, i);
  if (is_regular()) {
    taken.header().first = position(at);
  } else {
    taken.header().is_regular = false;
    std::ranges::copy(positions() + at, positions() + size(), taken.positions());
    taken.make_regular_if_equal();
  }
  while (size() > at) {
    waste(size() - 1);
    --header().size;
  }
  make_regular_if_equal();
  if (is_mostly_waste()) repack();
  return taken;
}

void ListBlock::append(const ListBlock& taken) {
  const std::size_t wanted = taken.header().used - taken.header().wasted;
  if (header().used + wanted > header().capacity) repack();
  const bool continues_here =
      is_regular() && taken.is_regular() && taken.header().first - kListStep == last_position();
  if (!continues_here) spell_out();
  for (std::size_t i = 0; i < taken.size(); ++i) {
    if (!continues_here) positions()[size()] = taken.position(i);
    append_packed(taken, i);
  }
}

// ---- The block ----

/// Returns a block with space for so many bytes. It uses the whole block of the allocator.
ListBlock::Block ListBlock::make_block(const Shape& shape, std::size_t bytes_wanted) {
  const std::size_t memory = heap_space(block_bytes(shape, bytes_wanted));
  const std::size_t capacity = memory - shape.bytes();
  if (capacity > std::numeric_limits<std::uint32_t>::max()) {
    throw std::length_error("an element of a list");
  }
  return Block(new (::operator new(memory)) Header{.first = 0,
                                                   .capacity = static_cast<std::uint32_t>(capacity),
                                                   .used = 0,
                                                   .wasted = 0,
                                                   .size = 0,
                                                   .slots = static_cast<std::uint16_t>(shape.slots),
                                                   .has_positions = shape.has_positions,
                                                   .is_regular = true,
                                                   .wants_to_shrink = false});
}

/// Moves everything to a block of this shape, which has space for it.
void ListBlock::move_to_block(const Shape& shape, std::size_t bytes_wanted) {
  ListBlock made;
  made.block_ = make_block(shape, std::max<std::size_t>(bytes_wanted, header().used));
  Header& to = made.header();
  to.first = header().first;
  to.used = header().used;
  to.wasted = header().wasted;
  to.size = header().size;
  to.is_regular = header().is_regular;
  to.wants_to_shrink = header().wants_to_shrink;
  if (!is_regular()) std::ranges::copy(positions(), positions() + size(), made.positions());
  std::memcpy(made.begins(), begins(), size() * sizeof(std::uint16_t));
  std::memcpy(made.bytes(), bytes(), header().used);
  *this = std::move(made);
}

/// Reserves memory: for this number of elements, for positions unless the block does without, and
/// for `more_bytes` of elements.
void ListBlock::reserve(std::size_t elements, bool has_positions, std::size_t more_bytes) {
  constexpr std::size_t kSlotsMin = 4;
  if (block_ == nullptr) {
    block_ = make_block({.slots = kSlotsMin, .has_positions = has_positions}, more_bytes);
    return;
  }
  if (header().wasted > 0 &&
      header().used + more_bytes > std::min<std::size_t>(kBytesMax, header().capacity)) {
    repack();
  }
  Shape wanted = shape();
  wanted.has_positions = wanted.has_positions || has_positions;
  if (elements > wanted.slots) wanted.slots = std::max(elements, 2 * wanted.slots);
  std::size_t capacity = header().capacity;
  const std::size_t used = header().used + more_bytes;
  if (used > capacity) capacity = std::max(used, std::min(2 * capacity, kBytesMax));
  if (wanted.bytes() != shape().bytes() || capacity > header().capacity) {
    move_to_block(wanted, capacity);
  }
}

void ListBlock::shrink() {
  if (block_ == nullptr) return;
  repack();
  header().wants_to_shrink = false;
  const Shape least{.slots = size(), .has_positions = !is_regular()};
  if (heap_block(block_bytes(least, header().used)) == memory_bytes()) return;
  try {
    move_to_block(least, header().used);
  } catch (const std::bad_alloc&) {  // the block keeps its memory
  }
}

/// Drops the waste in place. Needs no memory.
void ListBlock::repack() {
  if (empty()) {
    header().used = 0;
  } else if (header().wasted > 0) {
    assert(header().used - header().wasted <= kBytesMax);  // a larger element is alone
    std::array<char, kBytesMax> live;
    std::size_t end = 0;
    for (std::size_t at = 0; at < size(); ++at) {
      std::uint16_t& begin = begins()[at];
      const std::size_t packed_bytes = packed_at(begin).size;
      std::memcpy(live.data() + end, bytes() + begin, packed_bytes);
      begin = static_cast<std::uint16_t>(end);
      end += packed_bytes;
    }
    std::memcpy(bytes(), live.data(), end);
    header().used = static_cast<std::uint32_t>(end);
  }
  header().wasted = 0;
  ask_to_shrink();
}

}  // namespace rushgate
