// A set: packed while it is small and has only integers, then in tables. Integers have a compact
// table (about 15 bytes per member); other members are strings.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
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
#include "engine/keyspace/packed_integers.h"
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

/// A data structure: durable changes go through sets.h. A small set of integers is packed, in
/// ascending order. A large set has a table of integers, and one of other members.
class SetValue {
 public:
  explicit SetValue(std::uint64_t seed) : seed_(seed) {}

  [[nodiscard]] std::size_t size() const {
    return is_large() ? tables_->integers.size() + tables_->texts.size() : packed_.size();
  }
  [[nodiscard]] bool contains(std::string_view member) const {
    if (const auto integer = parse_int64(member)) return contains_integer(*integer);
    return is_large() && tables_->texts.contains(member);
  }
  [[nodiscard]] bool contains_integer(std::int64_t member) const {
    return is_large() ? tables_->integers.contains(member) : packed_.contains(member);
  }

  /// Inserts as SADD does: the set becomes large when it exceeds the limits. Returns false if it
  /// was a member.
  bool insert(std::string_view member, const EncodingLimits& limits);
  /// As the following, and keeps the form. Returns false if it was a member.
  bool insert_integer(std::int64_t member) {
    if (!is_large()) return packed_.insert(member);
    return tables_->integers.find_or_insert(member, [member] { return member; }).second;
  }
  /// As SegmentedTable::insert_missing().
  template <class Visit>
  void insert_integers(std::span<const std::int64_t> members, Visit visit) {
    if (is_large()) return tables_->integers.insert_missing(members, visit);
    for (const std::int64_t member : members) {
      if (!visit(member, packed_.insert(member))) return;
    }
  }
  /// The set must be large, and `member` not an integer. If it throws (out of memory), it is not
  /// inserted.
  bool insert_text(std::string_view member);
  /// Copies the members and the form of `from`. The set must be empty.
  void copy_members(const SetValue& from);
  /// Returns false if it was not a member.
  bool erase(std::string_view member) {
    if (const auto integer = parse_int64(member)) return erase_integer(*integer);
    return take_text(member).has_value();
  }
  bool erase_integer(std::int64_t member) {
    return is_large() ? tables_->integers.erase(member) : packed_.erase(member);
  }
  /// Removes `member`, which must not be an integer. Returns it if it was a member.
  std::optional<std::string> take_text(std::string_view member);
  /// Undoes take_text(). Needs no memory.
  void put_back(std::string text);

  /// Returns true if the set has exceeded Redis's limits for sets of integers.
  [[nodiscard]] bool is_large() const { return tables_ != nullptr; }
  /// Returns true if a small set exceeds the limits with this integer, or with a string.
  [[nodiscard]] bool outgrows(const EncodingLimits& limits,
                              std::optional<std::int64_t> member) const {
    return !member || (static_cast<std::int64_t>(packed_.size()) >= limits.set_integers &&
                       !packed_.contains(*member));
  }
  /// Makes a small set large. Returns the data to undo it, which needs no memory.
  PackedIntegers grow();
  void roll_back(PackedIntegers packed);
  /// Packs a large set that does not exceed the limits.
  void pack(const EncodingLimits& limits);

  /// Calls visit(std::string_view member), for a small set in ascending order.
  template <class Visit>
  void for_each(Visit visit) const {
    for_each_integer([&](std::int64_t member) { visit(DecimalText(member).view()); });
    for_each_text(visit);
  }
  /// Calls visit(std::int64_t member).
  template <class Visit>
  void for_each_integer(Visit visit) const {
    if (is_large()) return tables_->integers.for_each(visit);
    for (const std::int64_t member : packed_.members()) visit(member);
  }
  /// Calls visit(std::string_view member) for the members that are not integers.
  template <class Visit>
  void for_each_text(Visit visit) const {
    if (!is_large()) return;
    tables_->texts.for_each([&](const std::string& member) { visit(std::string_view(member)); });
  }
  /// Above the positions of all members.
  static constexpr std::uint64_t kPositionEnd = SegmentedTable<IntegerMember>::kPositionEnd;
  /// Iterates in steps (table_walk.h): the end of a step of at least `count` members; its members.
  /// A small set is a single step.
  [[nodiscard]] std::uint64_t step_end(std::uint64_t begin, std::size_t count) const {
    if (!is_large()) return kPositionEnd;
    return std::min(rushgate::step_end(tables_->integers, begin, count),
                    rushgate::step_end(tables_->texts, begin, count));
  }
  template <class Visit>
  void for_each_between(std::uint64_t begin, std::uint64_t end, Visit visit) const {
    if (!is_large()) return for_each(visit);
    rushgate::for_each_between(tables_->integers, begin, end,
                               [&](std::int64_t member) { visit(DecimalText(member).view()); });
    rushgate::for_each_between(tables_->texts, begin, end,
                               [&](const std::string& member) { visit(std::string_view(member)); });
  }
  /// Returns a random member; there must be one.
  [[nodiscard]] std::string draw(Random& random) const;

  /// Returns true if shrink() would release memory.
  [[nodiscard]] bool wants_to_shrink() const {
    return packed_.wants_to_shrink() || has_needless_records();
  }
  /// Releases memory. Earlier changes can no longer be undone.
  void shrink() {
    packed_.shrink();
    if (has_needless_records()) records_.reset();
  }

  /// Returns the memory on the heap.
  [[nodiscard]] std::size_t memory_bytes() const {
    return packed_.memory_bytes() + (is_large() ? tables_->memory_bytes() : 0) + record_bytes();
  }
  /// Computes the memory from the contents, for tests.
  [[nodiscard]] std::size_t measured_bytes() const {
    return packed_.memory_bytes() + (is_large() ? tables_->measured_bytes() : 0) + record_bytes();
  }

  /// Returns the records of the members. Needs memory at its first call after shrink().
  [[nodiscard]] SetRecords& records() {
    if (records_ == nullptr) records_ = std::make_unique<SetRecords>();
    return *records_;
  }
  [[nodiscard]] const SetRecords& records() const {
    return records_ == nullptr ? no_records() : *records_;
  }
  /// Records the buffered members.
  void complete_records(StoreBatch& batch, std::uint64_t object_id) {
    if (records_ != nullptr) records_->complete(batch, object_id);
  }

 private:
  struct Tables {
    explicit Tables(std::uint64_t seed) : integers(seed), texts(seed) {}

    [[nodiscard]] std::size_t memory_bytes() const {
      return heap_block(sizeof(Tables)) + integers.memory_bytes() + texts.memory_bytes() +
             text_bytes;
    }
    [[nodiscard]] std::size_t measured_bytes() const {
      std::size_t bytes =
          heap_block(sizeof(Tables)) + integers.measured_bytes() + texts.measured_bytes();
      texts.for_each([&](const std::string& text) { bytes += heap_bytes(text); });
      return bytes;
    }

    SegmentedTable<IntegerMember> integers;
    SegmentedTable<TextMember> texts;
    std::size_t text_bytes = 0;  // of the items of `texts`, without the table
  };

  static const SetRecords& no_records();
  /// Returns true if the set is small, and its records can be created again.
  [[nodiscard]] bool has_needless_records() const {
    constexpr std::size_t kSizeMax = 16;  // a larger set keeps the buffer for its next members
    return records_ != nullptr && size() <= kSizeMax && records_->are_plain();
  }
  [[nodiscard]] std::size_t record_bytes() const {
    return records_ == nullptr ? 0 : heap_block(sizeof(SetRecords)) + records_->memory_bytes();
  }

  std::unique_ptr<SetRecords> records_;  // null until they are needed
  std::uint64_t seed_;
  PackedIntegers packed_;           // empty if it is large
  std::unique_ptr<Tables> tables_;  // null if it is small
};

}  // namespace rushgate
