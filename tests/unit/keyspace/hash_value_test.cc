#include "engine/keyspace/hash_value.h"

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>

#include <gtest/gtest.h>

#include "engine/base/numbers.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

std::unordered_map<std::string, std::string> pairs_of(const HashValue& hash) {
  std::unordered_map<std::string, std::string> pairs;
  hash.for_each([&](std::string_view field, std::string_view value) {
    EXPECT_TRUE(pairs.emplace(field, value).second) << field << " occurs twice";
  });
  return pairs;
}

std::optional<std::string> text_of(const std::optional<HashValue::Value>& value) {
  if (!value) return std::nullopt;
  if (const auto* integer = std::get_if<std::int64_t>(&*value)) return std::to_string(*integer);
  return std::get<std::string>(*value);
}

std::optional<std::string> assign(HashValue& hash, std::string_view field, std::string_view value) {
  return text_of(hash.assign(field, value));
}
std::optional<std::string> erase(HashValue& hash, std::string_view field) {
  return text_of(hash.erase(field));
}

TEST(HashValueTest, AssignAndEraseReturnOldValue) {
  HashValue hash(7);
  EXPECT_EQ(assign(hash, "name", "a"), std::nullopt);
  EXPECT_EQ(assign(hash, "name", "b"), "a");
  EXPECT_EQ(hash.find("name"), "b");
  EXPECT_EQ(erase(hash, "name"), "b");
  EXPECT_EQ(erase(hash, "name"), std::nullopt);
  EXPECT_EQ(hash.size(), 0U);
}

TEST(HashValueTest, PairChangesTableWithoutDuplicate) {
  HashValue hash(7);
  assign(hash, "17", "1");
  EXPECT_EQ(assign(hash, "17", "text"), "1");
  EXPECT_EQ(hash.find("17"), "text");
  EXPECT_EQ(hash.find_integer("17"), std::nullopt);
  EXPECT_EQ(hash.size(), 1U);
  EXPECT_EQ(assign(hash, "17", "2"), "text");
  EXPECT_EQ(hash.find_integer("17"), 2);
  EXPECT_EQ(hash.size(), 1U);
}

TEST(HashValueTest, FindIntegerReadsOnlyCanonicalForm) {
  HashValue hash(7);
  assign(hash, "a", "12");
  assign(hash, "b", "012");
  assign(hash, "3", "-4");
  EXPECT_EQ(hash.find_integer("a"), 12);
  EXPECT_EQ(hash.find_integer("b"), std::nullopt);
  EXPECT_EQ(hash.find_integer("3"), -4);
  EXPECT_EQ(hash.find_integer("none"), std::nullopt);
}

std::string random_text(std::mt19937_64& random) {
  std::string number = std::to_string(random() % 1'000);
  switch (random() % 4) {
    case 0:
      return "0" + number;
    case 1:
      return "text that is too long for a small string " + number;
    default:
      return number;
  }
}

TEST(HashValueTest, HashAgreesWithUnorderedMap) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  HashValue hash(seed);
  std::unordered_map<std::string, std::string> model;
  for (int step = 0; step < 200'000; ++step) {
    const std::string field = random_text(random);
    const auto known = model.find(field);
    const std::optional<std::string> expected =
        known == model.end() ? std::nullopt : std::optional(known->second);
    ASSERT_EQ(hash.contains(field), expected.has_value()) << field;
    ASSERT_EQ(hash.find(field), expected) << field;
    ASSERT_EQ(hash.find_integer(field), expected ? parse_int64(*expected) : std::nullopt) << field;
    if (random() % 5 < 3) {
      const std::string value = random_text(random);
      ASSERT_EQ(assign(hash, field, value), expected);
      model[field] = value;
    } else {
      ASSERT_EQ(erase(hash, field), expected);
      model.erase(field);
    }
    ASSERT_EQ(hash.size(), model.size());
  }
  EXPECT_EQ(pairs_of(hash), model);
}

TEST(HashValueTest, CountPerUserCostsQuarterOfRedis) {
  constexpr std::int64_t kUsers = 1'000'000;
  HashValue hash(7);
  for (std::int64_t user = 0; user < kUsers; ++user) assign(hash, DecimalText(user).view(), "1");
  const double bytes_each = static_cast<double>(hash.memory_bytes()) / static_cast<double>(kUsers);
  RecordProperty("bytes_per_integer_field", std::to_string(bytes_each));
  EXPECT_LT(bytes_each, 36);
}

}  // namespace
}  // namespace rushgate
