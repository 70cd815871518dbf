#include "engine/redis/keyspace/packed_integers.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace rushgate {

std::size_t PackedIntegers::lower_bound(std::int64_t member) const {
  const std::span<const std::int64_t> all = members();
  if (all.empty() || all.back() < member) return all.size();  // they often ascend
  const std::int64_t* begin = all.data();
  for (std::size_t left = all.size(); left > 1;) {  // without branches
    const std::size_t half = left / 2;
    begin += begin[half - 1] < member ? half : 0;
    left -= half;
  }
  return static_cast<std::size_t>(begin - all.data());
}

bool PackedIntegers::contains(std::int64_t member) const {
  const std::size_t at = lower_bound(member);
  return at < size() && members()[at] == member;
}

bool PackedIntegers::insert(std::int64_t member) {
  const std::size_t at = lower_bound(member);
  if (at < size() && members()[at] == member) return false;
  if (block_ == nullptr) {
    move_to_block(1);
  } else if (block_->size == block_->capacity) {
    constexpr std::size_t kSpareShare = 8;
    move_to_block(size() + 1 + size() / kSpareShare);
  }
  std::int64_t* const place = first() + at;
  std::memmove(place + 1, place, (block_->size - at) * sizeof(member));
  *place = member;
  ++block_->size;
  return true;
}

bool PackedIntegers::erase(std::int64_t member) {
  const std::size_t at = lower_bound(member);
  if (at == size() || members()[at] != member) return false;
  std::int64_t* const place = first() + at;
  std::memmove(place, place + 1, (size() - at - 1) * sizeof(member));
  --block_->size;
  return true;
}

void PackedIntegers::append_all(std::span<const std::int64_t> members) {
  if (members.empty()) return;
  move_to_block(members.size());
  std::ranges::copy(members, first());
  block_->size = static_cast<std::uint32_t>(members.size());
}

/// Returns a block for so many members. It uses the whole block of the allocator.
PackedIntegers::Block PackedIntegers::make_block(std::size_t capacity_wanted) {
  const std::size_t bytes = heap_space(block_bytes(capacity_wanted));
  const std::size_t capacity = (bytes - sizeof(Header)) / sizeof(std::int64_t);
  return Block(new (::operator new(block_bytes(capacity)))
                   Header{.capacity = static_cast<std::uint32_t>(capacity), .size = 0});
}

void PackedIntegers::move_to_block(std::size_t capacity_wanted) {
  Block made = make_block(capacity_wanted);
  if (block_ != nullptr) {
    made->size = block_->size;
    std::memcpy(made.get() + 1, first(), size() * sizeof(std::int64_t));
  }
  block_ = std::move(made);
}

bool PackedIntegers::wants_to_shrink() const {
  constexpr std::size_t kSpareShare = 4;
  constexpr std::size_t kSpareMembers = 8;
  return block_ != nullptr && block_->capacity > size() + size() / kSpareShare + kSpareMembers;
}

void PackedIntegers::shrink() {
  if (!wants_to_shrink()) return;
  try {
    move_to_block(std::max<std::size_t>(size(), 1));
  } catch (const std::bad_alloc&) {  // the block keeps its memory
  }
}

}  // namespace rushgate
