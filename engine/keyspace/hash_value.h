// A hash: pairs of integers (a user and his count) in a table of their own, everything else as
// strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/numbers.h"
#include "engine/keyspace/hashing.h"
#include "engine/keyspace/segmented_table.h"

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
  static std::uint64_t hash(std::string_view field, std::uint64_t seed) {
    return hash_bytes(field, seed);
  }
  static std::uint64_t hash(const Item& item, std::uint64_t seed) {
    return hash_bytes(item.field, seed);
  }
  static bool matches(const Item& item, std::string_view field) { return item.field == field; }
};

/// A data structure only: durable changes go through hashes.h.
/// A pair stands in the table of integers if both its field and its value are, else in the other.
class HashValue {
 public:
  explicit HashValue(std::uint64_t seed) : integers_(seed), texts_(seed) {}

  [[nodiscard]] std::size_t size() const { return integers_.size() + texts_.size(); }
  [[nodiscard]] bool contains(std::string_view field) const;
  [[nodiscard]] std::optional<std::string> find(std::string_view field) const;
  /// The value, if the field is there and its value is an integer.
  [[nodiscard]] std::optional<std::int64_t> find_integer(std::string_view field) const;
  /// The value that was there.
  std::optional<std::string> assign(std::string_view field, std::string_view value);
  /// The value that was there.
  std::optional<std::string> erase(std::string_view field);
  /// visit(std::string_view field, std::string_view value)
  template <class Visit>
  void for_each(Visit visit) const {
    integers_.for_each([&](const IntegerField::Item& item) {
      visit(DecimalText(item.field).view(), DecimalText(item.value).view());
    });
    texts_.for_each([&](const TextField::Item& item) {
      visit(std::string_view(item.field), std::string_view(item.value));
    });
  }
  [[nodiscard]] std::size_t memory_bytes() const {
    return integers_.memory_bytes() + texts_.memory_bytes();
  }

 private:
  SegmentedTable<IntegerField> integers_;
  SegmentedTable<TextField> texts_;
};

}  // namespace rushgate
