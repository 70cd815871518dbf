// A hash. Pairs of integers (such as a user and a count) have a compact table of their own; other
// pairs are strings.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "engine/base/heap.h"
#include "engine/base/numbers.h"
#include "engine/base/random.h"
#include "engine/keyspace/encoding_limits.h"
#include "engine/keyspace/hashing.h"
#include "engine/keyspace/segmented_table.h"
#include "engine/keyspace/table_walk.h"
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

/// A data structure only: durable changes go through hashes.h. A pair is in the table of integers
/// if its field and its value are integers.
class HashValue {
 public:
  explicit HashValue(std::uint64_t seed) : integers_(seed), texts_(seed) {}

  [[nodiscard]] std::size_t size() const { return integers_.size() + texts_.size(); }
  [[nodiscard]] bool contains(std::string_view field) const;
  [[nodiscard]] std::optional<std::string> find(std::string_view field) const;
  /// Returns the value if the field exists and its value is an integer.
  [[nodiscard]] std::optional<std::int64_t> find_integer(std::string_view field) const;
  /// A value in the form of its table.
  using Value = std::variant<std::int64_t, std::string>;
  /// Returns the old value. Changes nothing if it throws (out of memory).
  std::optional<Value> assign(std::string_view field, std::string_view value);
  /// Returns the removed value.
  std::optional<Value> erase(std::string_view field);
  /// Undoes an assign() or erase() that returned `old`. Needs no memory.
  void restore(std::string field, Value old);
  /// Calls visit(std::string_view field, std::string_view value).
  template <class Visit>
  void for_each(Visit visit) const {
    integers_.for_each([&](const IntegerField::Item& item) {
      visit(DecimalText(item.field).view(), DecimalText(item.value).view());
    });
    texts_.for_each([&](const TextField::Item& item) {
      visit(std::string_view(item.field), std::string_view(item.value));
    });
  }
  /// Iterates in steps (table_walk.h): the end of a step of at least `count` fields; its fields.
  [[nodiscard]] std::uint64_t step_end(std::uint64_t begin, std::size_t count) const {
    return std::min(rushgate::step_end(integers_, begin, count),
                    rushgate::step_end(texts_, begin, count));
  }
  template <class Visit>
  void for_each_between(std::uint64_t begin, std::uint64_t end, Visit visit) const {
    rushgate::for_each_between(integers_, begin, end, [&](const IntegerField::Item& item) {
      visit(DecimalText(item.field).view(), DecimalText(item.value).view());
    });
    rushgate::for_each_between(texts_, begin, end, [&](const TextField::Item& item) {
      visit(std::string_view(item.field), std::string_view(item.value));
    });
  }
  /// Returns a random field; there must be one.
  [[nodiscard]] std::string draw(Random& random) const;

  /// Returns the memory on the heap.
  [[nodiscard]] std::size_t memory_bytes() const {
    return integers_.memory_bytes() + texts_.memory_bytes() + text_bytes_;
  }
  /// Computes the memory from the contents, for tests.
  [[nodiscard]] std::size_t measured_bytes() const {
    std::size_t bytes = integers_.measured_bytes() + texts_.measured_bytes();
    texts_.for_each([&](const TextField::Item& item) { bytes += heap_bytes(item); });
    return bytes;
  }

  /// Returns true if it has ever exceeded the limits of Redis's compact encoding.
  [[nodiscard]] bool is_large() const { return is_large_; }
  void set_large(bool is_large) { is_large_ = is_large; }
  /// Returns true if it exceeds the limits now that `field` has this value.
  [[nodiscard]] bool outgrows(const EncodingLimits& limits, std::string_view field,
                              std::string_view value) const {
    return static_cast<std::int64_t>(field.size()) > limits.hash_value_bytes ||
           static_cast<std::int64_t>(value.size()) > limits.hash_value_bytes ||
           static_cast<std::int64_t>(size()) > limits.hash_entries;
  }

 private:
  static std::size_t heap_bytes(const TextField::Item& item) {
    return rushgate::heap_bytes(item.field) + rushgate::heap_bytes(item.value);
  }

  std::optional<Value> take_integer(const MaybeInteger& field);
  std::optional<Value> take_text(const MaybeInteger& field);

  SegmentedTable<IntegerField> integers_;
  SegmentedTable<TextField> texts_;
  std::size_t text_bytes_ = 0;  // of the items of texts_, without the table
  bool is_large_ = false;
};

}  // namespace rushgate
