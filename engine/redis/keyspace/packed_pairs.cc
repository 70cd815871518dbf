#include "engine/redis/keyspace/packed_pairs.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "engine/core/base/varint.h"

namespace rushgate {
namespace {

/// The sizes of the parts of a pair.
struct PairSizes {
  PairSizes(std::size_t field_bytes, std::size_t value_bytes, std::size_t position)
      : rest(varint_bytes(position) + value_bytes),
        lengths(varint_bytes(field_bytes) + varint_bytes(rest)),
        all(lengths + field_bytes + rest) {}

  std::size_t rest;     // position and value
  std::size_t lengths;  // the two lengths
  std::size_t all;
};

}  // namespace

/// Searches the field; `pair` is null if there is none.
PackedPairs::Match PackedPairs::match(std::string_view field) const {
  if (block_ == nullptr) return {};
  const std::size_t size = field.size();
  const char last = field.empty() ? '\0' : field.back();
  const char* const end = pairs() + header().used;
  for (const char* at = pairs(); at != end;) {
    const char* const pair = at;
    std::size_t field_bytes = static_cast<unsigned char>(at[0]);
    std::size_t rest_bytes = static_cast<unsigned char>(at[1]);
    at += 2;
    if ((field_bytes | rest_bytes) >= 0x80) {  // longer varints
      at = pair;
      field_bytes = read_varint(at);
      rest_bytes = read_varint(at);
    }
    // The last byte differs in most fields of the same length.
    if (field_bytes == size && (size == 0 || at[size - 1] == last) &&
        std::string_view(at, size) == field) {
      return {.pair = pair, .rest = at + size, .rest_bytes = rest_bytes};
    }
    at += field_bytes + rest_bytes;
  }
  return {};
}

PackedPairs::Pair PackedPairs::find(std::string_view field) const {
  const Match found = match(field);
  return found.pair == nullptr ? Pair() : pair_of(found, field.size());
}

std::optional<std::string_view> PackedPairs::value_of(std::string_view field) const {
  const Match found = match(field);
  if (found.pair == nullptr) return std::nullopt;
  const char* value = found.rest;
  read_varint(value);  // the position
  return std::string_view(value, static_cast<std::size_t>(found.rest + found.rest_bytes - value));
}

PackedPairs::Pair PackedPairs::pair_of(const Match& match, std::size_t field_bytes) const {
  const char* value = match.rest;
  const char* const end = value + match.rest_bytes;
  const auto position = static_cast<std::uint32_t>(read_varint(value));
  return {.place = static_cast<std::size_t>(match.pair - pairs()),
          .field = {match.rest - field_bytes, field_bytes},
          .value = {value, static_cast<std::size_t>(end - value)},
          .position = position,
          .end = static_cast<std::size_t>(end - pairs())};
}

PackedPairs::Pair PackedPairs::at(std::size_t place) const {
  assert(place < bytes());
  const char* const pair = pairs() + place;
  const char* at = pair;
  const std::size_t field_bytes = read_varint(at);
  const std::size_t rest_bytes = read_varint(at);
  return pair_of({.pair = pair, .rest = at + field_bytes, .rest_bytes = rest_bytes}, field_bytes);
}

PackedPairs::Pair PackedPairs::by_index(std::size_t index) const {
  Pair pair = at(0);
  for (; index > 0; --index) pair = at(pair.end);
  return pair;
}

void PackedPairs::insert(std::size_t place, std::string_view field, std::string_view value,
                         std::uint32_t position) {
  const PairSizes sizes(field.size(), value.size(), position);
  reserve(bytes() + sizes.all);
  resize_gap(place, 0, sizes.all);
  char* to = write_varint(pairs() + place, field.size());
  to = write_varint(to, sizes.rest);
  to = std::copy(field.begin(), field.end(), to);
  to = write_varint(to, position);
  std::copy(value.begin(), value.end(), to);
  ++header().pairs;
  header().next_position = std::max(header().next_position, position + 1);
}

void PackedPairs::assign(const Pair& pair, std::string_view value) {
  if (value.size() == pair.value.size()) {
    std::copy(value.begin(), value.end(), pairs() + pair.end - value.size());
    return;
  }
  const std::size_t place = pair.place;
  const std::size_t field_bytes = pair.field.size();
  const std::size_t kept = field_bytes + varint_bytes(pair.position);
  const PairSizes old_sizes(field_bytes, pair.value.size(), pair.position);
  const PairSizes sizes(field_bytes, value.size(), pair.position);
  reserve(bytes() - old_sizes.all + sizes.all);
  // A longer pair makes space first, a shorter one moves its field first.
  if (sizes.all > old_sizes.all) resize_gap(place, old_sizes.all, sizes.all);
  std::memmove(pairs() + place + sizes.lengths, pairs() + place + old_sizes.lengths, kept);
  if (sizes.all < old_sizes.all) resize_gap(place, old_sizes.all, sizes.all);
  write_varint(pairs() + place + varint_bytes(field_bytes), sizes.rest);
  std::copy(value.begin(), value.end(), pairs() + place + sizes.lengths + kept);
}

void PackedPairs::erase(const Pair& pair) {
  resize_gap(pair.place, pair.end - pair.place, 0);
  --header().pairs;
}

void PackedPairs::move(std::size_t place, std::size_t new_place) {
  char* const pair = pairs() + place;
  char* const end = pairs() + at(place).end;
  char* const to = pairs() + new_place;
  if (to < pair) {
    std::rotate(to, pair, end);
  } else {
    std::rotate(pair, end, to + (end - pair));
  }
}

void PackedPairs::sort() {
  struct Sorted {
    std::uint32_t position;
    std::size_t begin;
    std::size_t end;
  };
  std::vector<Sorted> sorted;
  sorted.reserve(size());
  for (std::size_t place = 0; place < bytes();) {
    const Pair pair = at(place);
    sorted.push_back({.position = pair.position, .begin = pair.place, .end = pair.end});
    place = pair.end;
  }
  if (std::ranges::is_sorted(sorted, {}, &Sorted::position)) return;
  std::ranges::stable_sort(sorted, {}, &Sorted::position);
  Block made = make_block(bytes());
  char* to = reinterpret_cast<char*>(made.get() + 1);
  for (const Sorted& pair : sorted) to = std::copy(pairs() + pair.begin, pairs() + pair.end, to);
  take_over(std::move(made));
}

/// Changes the size of the bytes at `place` and moves the rest. There must be space.
void PackedPairs::resize_gap(std::size_t place, std::size_t old_bytes, std::size_t new_bytes) {
  char* const from = pairs() + place + old_bytes;
  std::memmove(pairs() + place + new_bytes, from,
               static_cast<std::size_t>(pairs() + header().used - from));
  header().used = static_cast<std::uint32_t>(header().used - old_bytes + new_bytes);
}

/// Returns a block with space for pairs of so many bytes. It uses the whole block of the allocator.
PackedPairs::Block PackedPairs::make_block(std::size_t bytes_wanted) {
  const std::size_t bytes = heap_space(sizeof(Header) + bytes_wanted);
  const auto capacity = static_cast<std::uint32_t>(bytes - sizeof(Header));
  return Block(new (::operator new(bytes))
                   Header{.capacity = capacity, .used = 0, .pairs = 0, .next_position = 0});
}

/// Replaces the block by one that has the bytes of the pairs.
void PackedPairs::take_over(Block made) {
  made->used = header().used;
  made->pairs = header().pairs;
  made->next_position = header().next_position;
  block_ = std::move(made);
}

void PackedPairs::move_to_block(std::size_t bytes_wanted) {
  Block made = make_block(bytes_wanted);
  std::memcpy(made.get() + 1, pairs(), header().used);
  take_over(std::move(made));
}

void PackedPairs::reserve(std::size_t bytes_wanted) {
  constexpr std::size_t kSpareShare = 8;
  if (block_ == nullptr) {
    block_ = make_block(bytes_wanted);
  } else if (bytes_wanted > header().capacity) {
    move_to_block(bytes_wanted + bytes_wanted / kSpareShare);
  }
}

bool PackedPairs::wants_to_shrink() const {
  constexpr std::size_t kSpareShare = 4;
  constexpr std::size_t kSpareBytes = 64;
  return block_ != nullptr &&
         header().capacity > header().used + header().used / kSpareShare + kSpareBytes;
}

void PackedPairs::shrink() {
  if (!wants_to_shrink()) return;
  try {
    move_to_block(header().used);
  } catch (const std::bad_alloc&) {  // the block keeps its memory
  }
}

}  // namespace rushgate
