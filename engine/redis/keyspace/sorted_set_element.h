// A member of a large sorted set with its score, in one block of memory of exactly its size:
//
//   [score: 8 bytes][length: 4][the member's bytes]
//
// The hash table and the order both point to it, so its bytes are stored once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string_view>

#include "engine/core/base/heap.h"
#include "engine/redis/keyspace/scored_element.h"

namespace rushgate {

class SortedSetElement {
 public:
  struct Deleter {
    void operator()(SortedSetElement* element) const { ::operator delete(element); }
  };
  using Owner = std::unique_ptr<SortedSetElement, Deleter>;

  static Owner make(std::string_view member, double its_score) {
    if (member.size() > std::numeric_limits<std::uint32_t>::max()) {
      throw std::length_error("a member of a sorted set");
    }
    void* const memory = ::operator new(block_bytes(member.size()));
    auto* const element = new (memory) SortedSetElement(its_score, member.size());
    member.copy(element->bytes(), member.size());
    return Owner(element);
  }
  SortedSetElement(const SortedSetElement&) = delete;
  SortedSetElement& operator=(const SortedSetElement&) = delete;

  [[nodiscard]] std::string_view member() const {
    return {const_cast<SortedSetElement*>(this)->bytes(), length_};
  }
  [[nodiscard]] std::size_t memory_bytes() const { return heap_block(block_bytes(length_)); }

  [[nodiscard]] ScoredElement view() const { return {.member = member(), .score = score}; }
  [[nodiscard]] bool is_before(const SortedSetElement& other) const {
    return view().is_before(other.view());
  }

  double score;  // not NaN; must not change while it is in an order

 private:
  // Directly after the length: the end of the class is padding.
  static constexpr std::size_t kMemberOffset = sizeof(double) + sizeof(std::uint32_t);

  SortedSetElement(double its_score, std::size_t length)
      : score(its_score), length_(static_cast<std::uint32_t>(length)) {}

  static std::size_t block_bytes(std::size_t length) {
    const std::size_t bytes = kMemberOffset + length;
    return bytes < sizeof(SortedSetElement) ? sizeof(SortedSetElement) : bytes;
  }
  char* bytes() { return reinterpret_cast<char*>(this) + kMemberOffset; }

  std::uint32_t length_;
};

}  // namespace rushgate
