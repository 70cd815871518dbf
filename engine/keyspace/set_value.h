// A set. Integers have a compact table (about 15 bytes per member); other members are strings.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/heap.h"
#include "engine/base/numbers.h"
#include "engine/base/random.h"
#include "engine/keyspace/encoding_limits.h"
#include "engine/keyspace/hashing.h"
#include "engine/keyspace/segmented_table.h"
#include "engine/keyspace/set_records.h"
#include "engine/keyspace/table_walk.h"

namespace rushgate {

struct IntegerMember {
  using Item = std::int64_t;
  static std::uint64_t hash(std::int64_t member, std::uint64_t seed) {
    return hash_integer(member, seed);
  }
  static bool matches(std::int64_t item, std::int64_t member) { return item == member; }
};

struct TextMember {
  using Item = std::string;
  static std::uint64_t hash(std::string_view member, std::uint64_t seed) {
    return hash_bytes(member, seed);
  }
  static bool matches(const std::string& item, std::string_view member) { return item == member; }
};

/// A data structure: durable changes go through sets.h.
class SetValue {
 public:
  explicit SetValue(std::uint64_t seed) : integers_(seed), texts_(seed) {}

  [[nodiscard]] std::size_t size() const { return integers_.size() + texts_.size(); }
  [[nodiscard]] bool contains(std::string_view member) const {
    if (const auto integer = parse_int64(member)) return integers_.contains(*integer);
    return texts_.contains(member);
  }
  /// Returns false if it was a member.
  bool insert(std::string_view member) {
    if (const auto integer = parse_int64(member)) return insert_integer(*integer);
    return insert_text(member);
  }
  bool insert_integer(std::int64_t member) {
    return integers_.find_or_insert(member, [member] { return member; }).second;
  }
  /// As SegmentedTable::insert_missing().
  template <class Visit>
  void insert_integers(std::span<const std::int64_t> members, Visit visit) {
    integers_.insert_missing(members, visit);
  }
  /// Copies the members of `from`. The set must be empty.
  void copy_members(const SetValue& from) {
    integers_.copy_from(from.integers_);
    texts_.copy_from(from.texts_);
    texts_.for_each([this](const std::string& text) { text_bytes_ += heap_bytes(text); });
  }
  /// `member` must not be an integer. If it throws (out of memory), it is not inserted.
  bool insert_text(std::string_view member) {
    const auto [text, is_new] =
        texts_.find_or_insert(member, [member] { return std::string(member); });
    if (is_new) text_bytes_ += heap_bytes(*text);
    return is_new;
  }
  /// Returns false if it was not a member.
  bool erase(std::string_view member) {
    if (const auto integer = parse_int64(member)) return erase_integer(*integer);
    return take_text(member).has_value();
  }
  bool erase_integer(std::int64_t member) { return integers_.erase(member); }
  /// Removes `member`, which must not be an integer. Returns it if it was a member.
  std::optional<std::string> take_text(std::string_view member) {
    std::string taken;
    if (!texts_.take(member, &taken)) return std::nullopt;
    text_bytes_ -= heap_bytes(taken);
    return taken;
  }
  /// Undoes take_text(). Needs no memory.
  void put_back(std::string text) { text_bytes_ += heap_bytes(texts_.insert(std::move(text))); }
  /// Calls visit(std::string_view member).
  template <class Visit>
  void for_each(Visit visit) const {
    for_each_integer([&](std::int64_t member) { visit(DecimalText(member).view()); });
    for_each_text(visit);
  }
  /// Calls visit(std::int64_t member).
  template <class Visit>
  void for_each_integer(Visit visit) const {
    integers_.for_each(visit);
  }
  /// Calls visit(std::string_view member) for the members that are not integers.
  template <class Visit>
  void for_each_text(Visit visit) const {
    texts_.for_each([&](const std::string& member) { visit(std::string_view(member)); });
  }
  /// Above the positions of all members.
  static constexpr std::uint64_t kPositionEnd = SegmentedTable<IntegerMember>::kPositionEnd;
  /// Iterates in steps (table_walk.h): the end of a step of at least `count` members; its members.
  [[nodiscard]] std::uint64_t step_end(std::uint64_t begin, std::size_t count) const {
    return std::min(rushgate::step_end(integers_, begin, count),
                    rushgate::step_end(texts_, begin, count));
  }
  template <class Visit>
  void for_each_between(std::uint64_t begin, std::uint64_t end, Visit visit) const {
    rushgate::for_each_between(integers_, begin, end,
                               [&](std::int64_t member) { visit(DecimalText(member).view()); });
    rushgate::for_each_between(texts_, begin, end,
                               [&](const std::string& member) { visit(std::string_view(member)); });
  }
  /// Returns a random member; there must be one.
  [[nodiscard]] std::string draw(Random& random) const {
    if (random.below(size()) >= integers_.size()) return texts_.draw(random);
    return std::string(DecimalText(integers_.draw(random)).view());
  }

  /// Returns the memory on the heap.
  [[nodiscard]] std::size_t memory_bytes() const {
    return integers_.memory_bytes() + texts_.memory_bytes() + text_bytes_ + records_.memory_bytes();
  }
  /// Computes the memory from the contents, for tests.
  [[nodiscard]] std::size_t measured_bytes() const {
    std::size_t bytes =
        integers_.measured_bytes() + texts_.measured_bytes() + records_.memory_bytes();
    texts_.for_each([&](const std::string& text) { bytes += heap_bytes(text); });
    return bytes;
  }

  /// History that determines Redis's encoding of the set.
  struct Form {
    bool was_large = false;   // it exceeded the compact encoding before a removal
    std::int64_t spared = 0;  // size that was allowed before the limit was lowered
  };
  /// Returns true if it has exceeded Redis's limits for sets of integers. Its present size shows
  /// that until a removal, which must save it.
  [[nodiscard]] bool is_large(const EncodingLimits& limits) const {
    return form_.was_large || !texts_.empty() ||
           static_cast<std::int64_t>(integers_.size()) >
               std::max(limits.set_integers, form_.spared);
  }
  [[nodiscard]] const Form& form() const { return form_; }
  void set_form(const Form& form) { form_ = form; }

  /// Returns the records of the members.
  [[nodiscard]] SetRecords& records() { return records_; }
  [[nodiscard]] const SetRecords& records() const { return records_; }

 private:
  SetRecords records_;
  SegmentedTable<IntegerMember> integers_;
  SegmentedTable<TextMember> texts_;
  std::size_t text_bytes_ = 0;  // of the items of texts_, without the table
  Form form_;
};

}  // namespace rushgate
