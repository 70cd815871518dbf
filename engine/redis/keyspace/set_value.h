// A set: packed while it is small, then in tables. Integers have a compact table (about 15 bytes per
// member); other members are strings.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "engine/core/base/heap.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/random.h"
#include "engine/redis/keyspace/encoding_limits.h"
#include "engine/redis/keyspace/hashing.h"
#include "engine/redis/keyspace/packed_integers.h"
#include "engine/redis/keyspace/packed_members.h"
#include "engine/redis/keyspace/segmented_table.h"
#include "engine/redis/keyspace/set_records.h"
#include "engine/redis/keyspace/table_walk.h"
#include <rushgate/maybe_integer.h>

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

/// A data structure: durable changes go through sets.h. It has one of three forms: a small set of
/// integers, packed in ascending order; a small set that has or had other members, packed in order
/// of insertion; or a table of integers, and one of other members.
class SetValue {
  struct Tables;

 public:
  [[nodiscard]] std::size_t size() const {
    if (has_tables()) return tables().integers.size() + tables().texts.size();
    return is_large() ? members().size() : integers().size();
  }
  [[nodiscard]] bool contains(const MaybeInteger& member) const;

  // ---- Changes. A change that throws (out of memory) has no effect. Undoing needs no memory, the
  // newest first, and before shrink() ----

  /// Inserts as SADD does. Changes the form if necessary, with tables of this seed. Returns false if
  /// it was a member.
  bool insert(const MaybeInteger& member, const EncodingLimits& limits, std::uint64_t seed);
  /// As the following, and keeps the form, which must have space. Returns false if it was a member.
  bool insert_integer(std::int64_t member);
  /// As SegmentedTable::insert_missing().
  template <class Visit>
  void insert_integers(std::span<const std::int64_t> members, Visit visit) {
    if (has_tables()) return tables().integers.insert_missing(members, visit);
    for (const std::int64_t member : members) {
      if (!visit(member, insert_integer(member))) return;
    }
  }
  /// `member` must not be an integer, and the form have space for it.
  bool insert_text(std::string_view member);
  /// Copies the members and the form of `from`. The set must be empty.
  void copy_members(const SetValue& from);
  /// Returns false if it was not a member.
  bool erase(const MaybeInteger& member) {
    if (member.is_integer()) return erase_integer(member.integer());
    return erase_text(member.text());
  }
  bool erase_integer(std::int64_t member);
  /// `member` must not be an integer.
  bool erase_text(std::string_view member);
  /// As erase_text(), and returns the member if it was one.
  std::optional<std::string> take_text(std::string_view member);
  /// Undoes take_text().
  void put_back(std::string text);

  // ---- The form ----

  /// Returns true if the set has exceeded Redis's limits for sets of integers.
  [[nodiscard]] bool is_large() const { return !std::holds_alternative<PackedIntegers>(form_); }
  /// Returns true if the form has no space for `member`.
  [[nodiscard]] bool outgrows(const EncodingLimits& limits, const MaybeInteger& member) const;
  /// Returns true if the form has space for so many more integers.
  [[nodiscard]] bool has_space_for_integers(const EncodingLimits& limits, std::size_t more) const;

  /// A former form.
  using Packed = std::variant<PackedIntegers, PackedMembers>;
  /// Changes the form to the next one that has space for `member`. Returns the data to undo it.
  Packed grow(const MaybeInteger& member, std::uint64_t seed);
  /// Moves the members to tables. Returns the data to undo it. There must be none.
  Packed make_tables(std::uint64_t seed);
  void roll_back(Packed packed);
  /// Packs the members if they do not exceed the limits.
  void pack(const EncodingLimits& limits);

  // ---- Reading ----

  /// Calls visit(std::string_view member).
  template <class Visit>
  void for_each(Visit visit) const {
    if (is_large() && !has_tables()) return members().for_each(visit);
    for_each_integer([&](std::int64_t member) { visit(DecimalText(member).view()); });
    for_each_text(visit);
  }
  /// Calls visit(std::int64_t member).
  template <class Visit>
  void for_each_integer(Visit visit) const {
    if (has_tables()) return tables().integers.for_each(visit);
    if (is_large()) {
      return members().for_each([&](std::string_view member) {
        if (const auto integer = parse_int64(member)) visit(*integer);
      });
    }
    for (const std::int64_t member : integers().members()) visit(member);
  }
  /// Calls visit(std::string_view member) for the members that are not integers.
  template <class Visit>
  void for_each_text(Visit visit) const {
    if (has_tables()) {
      tables().texts.for_each([&](const std::string& member) { visit(std::string_view(member)); });
    } else if (is_large()) {
      members().for_each([&](std::string_view member) {
        if (!parse_int64(member)) visit(member);
      });
    }
  }
  /// Above the positions of all members.
  static constexpr std::uint64_t kPositionEnd = SegmentedTable<IntegerMember>::kPositionEnd;
  /// Iterates in steps (table_walk.h): the end of a step of at least `count` members; its members.
  /// A packed set is a single step.
  [[nodiscard]] std::uint64_t step_end(std::uint64_t begin, std::size_t count) const {
    if (!has_tables()) return kPositionEnd;
    return std::min(rushgate::step_end(tables().integers, begin, count),
                    rushgate::step_end(tables().texts, begin, count));
  }
  template <class Visit>
  void for_each_between(std::uint64_t begin, std::uint64_t end, Visit visit) const {
    if (!has_tables()) return for_each(visit);
    rushgate::for_each_between(tables().integers, begin, end,
                               [&](std::int64_t member) { visit(DecimalText(member).view()); });
    rushgate::for_each_between(tables().texts, begin, end,
                               [&](const std::string& member) { visit(std::string_view(member)); });
  }
  /// Calls visit(std::string_view member) until it returns false.
  template <class Visit>
  void for_each_while(Visit visit) const {
    if (!has_tables()) {
      bool goes_on = true;
      return for_each([&](std::string_view member) { goes_on = goes_on && visit(member); });
    }
    const auto visit_integer = [&](std::int64_t member) {
      return visit(DecimalText(member).view());
    };
    const auto visit_text = [&](const std::string& member) {
      return visit(std::string_view(member));
    };
    if (rushgate::for_each_while(tables().integers, visit_integer))
      rushgate::for_each_while(tables().texts, visit_text);
  }
  /// Returns a random member; there must be one.
  [[nodiscard]] std::string draw(Random& random) const;

  // ---- Memory ----

  /// Returns true if shrink() would release memory.
  [[nodiscard]] bool wants_to_shrink() const;
  /// Releases memory. Earlier changes can no longer be undone.
  void shrink();

  /// Returns the memory on the heap.
  [[nodiscard]] std::size_t memory_bytes() const {
    if (has_tables()) return tables().memory_bytes() + record_bytes();
    return (is_large() ? members().memory_bytes() : integers().memory_bytes()) + record_bytes();
  }
  /// Computes the memory from the contents, for tests.
  [[nodiscard]] std::size_t measured_bytes() const {
    return has_tables() ? tables().measured_bytes() + record_bytes() : memory_bytes();
  }

  // ---- Records ----

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
    bool insert_text(std::string_view member);
    std::optional<std::string> take_text(std::string_view member);

    SegmentedTable<IntegerMember> integers;
    SegmentedTable<TextMember> texts;
    std::size_t text_bytes = 0;  // of the items of `texts`, without the table
  };
  using TablesOwner = std::unique_ptr<Tables>;

  [[nodiscard]] bool has_tables() const { return std::holds_alternative<TablesOwner>(form_); }
  // The contents of a form, which must be the present one.
  [[nodiscard]] const PackedIntegers& integers() const { return *std::get_if<0>(&form_); }
  [[nodiscard]] PackedIntegers& integers() { return *std::get_if<0>(&form_); }
  [[nodiscard]] const PackedMembers& members() const { return *std::get_if<1>(&form_); }
  [[nodiscard]] PackedMembers& members() { return *std::get_if<1>(&form_); }
  [[nodiscard]] const Tables& tables() const { return **std::get_if<2>(&form_); }
  [[nodiscard]] Tables& tables() { return **std::get_if<2>(&form_); }

  Packed take_packed();

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
  std::variant<PackedIntegers, PackedMembers, TablesOwner> form_;
};

}  // namespace rushgate
