// A hash: packed while it is small, then in tables. Pairs of integers (such as a user and a count)
// have a compact table of their own; other pairs are strings.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "engine/core/base/heap.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/random.h"
#include "engine/redis/keyspace/encoding_limits.h"
#include "engine/redis/keyspace/field_expiries.h"
#include "engine/redis/keyspace/hashing.h"
#include "engine/redis/keyspace/packed_pairs.h"
#include "engine/redis/keyspace/segmented_table.h"
#include "engine/redis/keyspace/table_walk.h"
#include <rushgate/maybe_integer.h>

namespace rushgate {

struct IntegerField {
  struct Item {
    std::int64_t field;
    std::int64_t value;
  };
  static std::uint64_t hash(std::int64_t field, std::uint64_t seed) {
    return hash_integer(field, seed);
  }
  static std::uint64_t hash(const Item& item, std::uint64_t seed) {
    return hash_integer(item.field, seed);
  }
  static bool matches(const Item& item, std::int64_t field) { return item.field == field; }
};

struct TextField {
  struct Item {
    std::string field;
    std::string value;
  };
  /// Equal to the hash of the integer in IntegerField, so a field that moves between the tables
  /// keeps its position.
  static std::uint64_t hash(const MaybeInteger& field, std::uint64_t seed) {
    return field.is_integer() ? hash_integer(field.integer(), seed)
                              : hash_bytes(field.text(), seed);
  }
  static std::uint64_t hash(const Item& item, std::uint64_t seed) {
    return hash(MaybeInteger(item.field), seed);
  }
  static bool matches(const Item& item, const MaybeInteger& field) {
    return item.field == field.text();
  }
};

/// A data structure only: durable changes go through hashes.h. A small hash is packed, in order of
/// insertion. A large one has a table for the pairs of which field and value are integers, and one
/// for the others.
class HashValue {
 public:
  explicit HashValue(std::uint64_t seed) : seed_(seed & kSeedMask) {}

  // ---- Reading. Fields that are hidden (FieldExpiries) do not exist here ----

  [[nodiscard]] std::size_t size() const {
    return stored_size() - (hides_any() ? expiries()->count_hidden() : 0);
  }
  [[nodiscard]] bool empty() const {
    return stored_size() == 0 || (hides_any() && is_expired(expiries()->hidden_until_ms()));
  }
  [[nodiscard]] bool contains(std::string_view field) const;
  [[nodiscard]] std::optional<std::string> find(std::string_view field) const;
  /// Returns the value if the field exists and its value is an integer.
  [[nodiscard]] std::optional<std::int64_t> find_integer(std::string_view field) const;

  // ---- Changes, also of hidden fields. A change that throws (out of memory) has no effect. Undoing
  // needs no memory, the newest first ----

  /// A value in the form of its table; packed, it is a string.
  using Value = std::variant<std::int64_t, std::string>;
  /// The data to undo an assign().
  struct Assigned {
    std::string field;         // of a large hash
    std::optional<Value> old;  // empty if the field is new
    std::size_t place;         // of a packed pair
    std::uint32_t position;    // for its record; 0 in a large hash
  };
  /// A new field of a small hash comes last. Another one keeps its place.
  Assigned assign(std::string_view field, std::string_view value);
  void roll_back(Assigned assigned);

  /// The data to undo an erase().
  struct Erased {
    std::string field;
    std::optional<Value> old;  // empty if there was no such field
    std::size_t place;         // of a packed pair
    std::uint32_t position;
  };
  Erased erase(std::string_view field);
  void roll_back(Erased erased);

  /// Makes a small hash large. Returns the data to undo it.
  PackedPairs grow();
  void roll_back(PackedPairs packed);

  // ---- Fields that expire. A removed field must lose its expiry too ----

  /// Returns the expiries; null if there are none, except between their removal and shrink().
  [[nodiscard]] FieldExpiries* expiries() {
    return extras_ == nullptr ? nullptr : extras_->expiries.get();
  }
  [[nodiscard]] const FieldExpiries* expiries() const {
    return extras_ == nullptr ? nullptr : extras_->expiries.get();
  }
  /// Returns true if a visible field expires.
  [[nodiscard]] bool has_expiries() const {
    return any_expires() && expiries()->last_ms() > expiries()->hidden_until_ms();
  }
  /// Returns the expiry of a visible field.
  [[nodiscard]] std::optional<std::int64_t> expiry(std::string_view field) const {
    return expiries() == nullptr || expiries()->hides(field) ? std::nullopt
                                                             : expiries()->find(field);
  }
  /// Returns true if a visible field has expired.
  [[nodiscard]] bool has_due_fields(std::int64_t now_ms) const {
    return expiries() != nullptr && expiries()->are_due(now_ms);
  }
  /// Returns true if any field has expired, hidden or not, and if all have.
  [[nodiscard]] bool has_expired_fields(std::int64_t now_ms) const {
    return any_expires() && expiries()->first_ms() <= now_ms;
  }
  [[nodiscard]] bool is_expired(std::int64_t now_ms) const {
    return any_expires() && expiries()->size() == stored_size() && expiries()->last_ms() <= now_ms;
  }
  [[nodiscard]] bool hides(std::string_view field) const {
    return expiries() != nullptr && expiries()->hides(field);
  }
  [[nodiscard]] bool hides_any() const { return expiries() != nullptr && expiries()->hides_any(); }
  /// Returns the number of fields, hidden or not.
  [[nodiscard]] std::size_t stored_size() const {
    return is_large() ? tables().integers.size() + tables().texts.size() : packed_.size();
  }
  /// Sets the expiry of a field. It is undone by FieldExpiries::roll_back(), and drop_expiries() if
  /// expiries() was null.
  FieldExpiries::Assigned assign_expiry(std::string_view field, std::int64_t expire_at_ms);
  void drop_expiries();

  // ---- The records of the fields (docs/format.md) ----

  /// Returns true if the records have positions: false if an earlier version created the hash.
  [[nodiscard]] bool has_positions() const { return has_positions_; }
  void set_has_positions(bool has_positions) { has_positions_ = has_positions; }
  /// Adds a field at open. Returns false if there is one of this name.
  bool load(std::string_view field, std::string_view value, std::uint32_t position);
  /// Puts the fields of a small hash in order after all were loaded.
  void end_load() {
    packed_.sort();
    packed_.shrink();
  }

  /// Calls visit(std::string_view field, std::string_view value), for a small hash in order of
  /// insertion.
  template <class Visit>
  void for_each(Visit visit) const {
    if (!hides_any()) return for_each_stored(visit);
    for_each_stored([&](std::string_view field, std::string_view value) {
      if (!hides(field)) visit(field, value);
    });
  }
  /// As for_each(), hidden or not.
  template <class Visit>
  void for_each_stored(Visit visit) const {
    if (!is_large()) return packed_.for_each(visit);
    tables().integers.for_each(
        [&](const IntegerField::Item& item) { visit_integers(item, visit); });
    tables().texts.for_each([&](const TextField::Item& item) { visit_texts(item, visit); });
  }
  /// Iterates over a large hash in steps (table_walk.h): the end of a step of at least `count`
  /// fields; its fields.
  [[nodiscard]] std::uint64_t step_end(std::uint64_t begin, std::size_t count) const {
    return std::min(rushgate::step_end(tables().integers, begin, count),
                    rushgate::step_end(tables().texts, begin, count));
  }
  template <class Visit>
  void for_each_between(std::uint64_t begin, std::uint64_t end, Visit visit_visible) const {
    const auto visit = [&](std::string_view field, std::string_view value) {
      if (!hides(field)) visit_visible(field, value);
    };
    rushgate::for_each_between(tables().integers, begin, end, [&](const IntegerField::Item& item) {
      visit_integers(item, visit);
    });
    rushgate::for_each_between(tables().texts, begin, end,
                               [&](const TextField::Item& item) { visit_texts(item, visit); });
  }
  /// Returns true if most fields are hidden, so that draw() takes many steps.
  [[nodiscard]] bool hides_most() const {
    constexpr std::size_t kMost = 8;
    return hides_any() && size() < stored_size() / kMost;
  }
  /// Returns a random field; there must be one.
  [[nodiscard]] std::string draw(Random& random) const;

  /// Returns true if shrink() would release memory.
  [[nodiscard]] bool wants_to_shrink() const {
    return packed_.wants_to_shrink() || (expiries() != nullptr && expiries()->empty());
  }
  /// Releases memory. Earlier changes can no longer be undone.
  void shrink() {
    packed_.shrink();
    if (!any_expires()) drop_expiries();
  }

  /// Returns the memory on the heap.
  [[nodiscard]] std::size_t memory_bytes() const {
    return packed_.memory_bytes() + (extras_ == nullptr ? 0 : extras_->memory_bytes());
  }
  /// Computes the memory from the contents, for tests.
  [[nodiscard]] std::size_t measured_bytes() const {
    return packed_.memory_bytes() + (extras_ == nullptr ? 0 : extras_->measured_bytes());
  }

  /// Returns true if it has ever exceeded the limits of Redis's compact encoding.
  [[nodiscard]] bool is_large() const { return extras_ != nullptr && extras_->tables != nullptr; }
  /// Returns true if a small hash exceeds the limits once `field` has this value.
  [[nodiscard]] bool outgrows(const EncodingLimits& limits, std::string_view field,
                              std::string_view value) const;

 private:
  struct Tables {
    explicit Tables(std::uint64_t seed) : integers(seed), texts(seed) {}

    std::optional<Value> assign(std::string_view field, std::string_view value);
    std::optional<Value> erase(std::string_view field);
    void restore(std::string field, Value old);
    std::optional<Value> take_integer(const MaybeInteger& field);
    std::optional<Value> take_text(const MaybeInteger& field);

    [[nodiscard]] std::size_t memory_bytes() const {
      return heap_block(sizeof(Tables)) + integers.memory_bytes() + texts.memory_bytes() +
             text_bytes;
    }
    [[nodiscard]] std::size_t measured_bytes() const {
      std::size_t bytes =
          heap_block(sizeof(Tables)) + integers.measured_bytes() + texts.measured_bytes();
      texts.for_each([&](const TextField::Item& item) { bytes += heap_bytes(item); });
      return bytes;
    }

    SegmentedTable<IntegerField> integers;
    SegmentedTable<TextField> texts;
    std::size_t text_bytes = 0;  // of the items of `texts`, without the table
  };

  /// The parts that most hashes do not have.
  struct Extras {
    std::unique_ptr<Tables> tables;           // null if it is small
    std::unique_ptr<FieldExpiries> expiries;  // null if no field expires

    [[nodiscard]] std::size_t memory_bytes() const {
      return heap_block(sizeof(Extras)) + (tables == nullptr ? 0 : tables->memory_bytes()) +
             (expiries == nullptr ? 0 : expiries->memory_bytes());
    }
    [[nodiscard]] std::size_t measured_bytes() const {
      return heap_block(sizeof(Extras)) + (tables == nullptr ? 0 : tables->measured_bytes()) +
             (expiries == nullptr ? 0 : expiries->measured_bytes());
    }
  };
  [[nodiscard]] const Tables& tables() const { return *extras_->tables; }
  [[nodiscard]] Tables& tables() { return *extras_->tables; }
  Extras& extras();
  void drop_empty_extras();

  [[nodiscard]] bool any_expires() const { return expiries() != nullptr && !expiries()->empty(); }
  [[nodiscard]] std::string draw_stored(Random& random) const;

  static std::size_t heap_bytes(const TextField::Item& item) {
    return rushgate::heap_bytes(item.field) + rushgate::heap_bytes(item.value);
  }
  template <class Visit>
  static void visit_integers(const IntegerField::Item& item, const Visit& visit) {
    visit(DecimalText(item.field).view(), DecimalText(item.value).view());
  }
  template <class Visit>
  static void visit_texts(const TextField::Item& item, const Visit& visit) {
    visit(std::string_view(item.field), std::string_view(item.value));
  }

  static constexpr std::uint64_t kSeedMask = (std::uint64_t{1} << 63) - 1;

  std::uint64_t seed_ : 63;
  bool has_positions_ : 1 = true;
  PackedPairs packed_;  // empty if it is large
  std::unique_ptr<Extras> extras_;
};

}  // namespace rushgate
