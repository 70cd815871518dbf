#include "engine/redis/keyspace/hash_value.h"

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "engine/core/base/numbers.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs pairs_of(const HashValue& hash) {
  Pairs pairs;
  hash.for_each(
      [&](std::string_view field, std::string_view value) { pairs.emplace_back(field, value); });
  return pairs;
}

std::optional<std::string> text_of(const std::optional<HashValue::Value>& value) {
  if (!value) return std::nullopt;
  if (const auto* integer = std::get_if<std::int64_t>(&*value)) return std::to_string(*integer);
  return std::get<std::string>(*value);
}

std::optional<std::string> assign(HashValue& hash, std::string_view field, std::string_view value) {
  return text_of(hash.assign(field, value).old);
}
std::optional<std::string> erase(HashValue& hash, std::string_view field) {
  return text_of(hash.erase(field).old);
}

/// Tests of both forms.
class HashFormsTest : public ::testing::TestWithParam<bool> {
 protected:
  HashFormsTest() {
    if (GetParam()) static_cast<void>(hash_.grow());
  }

  HashValue hash_{7};
};

INSTANTIATE_TEST_SUITE_P(, HashFormsTest, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "Large" : "Small"; });

TEST_P(HashFormsTest, AssignAndEraseReturnOldValue) {
  EXPECT_EQ(assign(hash_, "name", "a"), std::nullopt);
  EXPECT_EQ(assign(hash_, "name", "b"), "a");
  EXPECT_EQ(hash_.find("name"), "b");
  EXPECT_EQ(erase(hash_, "name"), "b");
  EXPECT_EQ(erase(hash_, "name"), std::nullopt);
  EXPECT_EQ(hash_.size(), 0U);
}

TEST_P(HashFormsTest, PairChangesTypeWithoutDuplicate) {
  assign(hash_, "17", "1");
  EXPECT_EQ(assign(hash_, "17", "text"), "1");
  EXPECT_EQ(hash_.find("17"), "text");
  EXPECT_EQ(hash_.find_integer("17"), std::nullopt);
  EXPECT_EQ(hash_.size(), 1U);
  EXPECT_EQ(assign(hash_, "17", "2"), "text");
  EXPECT_EQ(hash_.find_integer("17"), 2);
  EXPECT_EQ(hash_.size(), 1U);
}

TEST_P(HashFormsTest, FindIntegerReadsOnlyCanonicalForm) {
  assign(hash_, "a", "12");
  assign(hash_, "b", "012");
  assign(hash_, "3", "-4");
  EXPECT_EQ(hash_.find_integer("a"), 12);
  EXPECT_EQ(hash_.find_integer("b"), std::nullopt);
  EXPECT_EQ(hash_.find_integer("3"), -4);
  EXPECT_EQ(hash_.find_integer("none"), std::nullopt);
}

TEST(HashValueTest, SmallHashKeepsOrderOfInsertion) {
  HashValue hash(7);
  for (const char* const field : {"z", "2", "a", "1", ""}) hash.assign(field, "v");
  hash.assign("a", "a longer value");
  hash.erase("2");
  hash.assign("2", "again");
  EXPECT_EQ(pairs_of(hash),
            (Pairs{{"z", "v"}, {"a", "a longer value"}, {"1", "v"}, {"", "v"}, {"2", "again"}}));
}

TEST(HashValueTest, LengthsOfAnySizeArePacked) {
  HashValue hash(7);
  Pairs pairs;
  for (const std::size_t length : {0U, 1U, 127U, 128U, 129U, 16'383U, 16'384U, 70'000U}) {
    pairs.emplace_back(std::to_string(length) + std::string(length, 'f'), std::string(length, 'v'));
    hash.assign(pairs.back().first, "");
    hash.assign(pairs.back().first, pairs.back().second);
  }
  EXPECT_EQ(pairs_of(hash), pairs);
  for (auto& [field, value] : pairs) {
    EXPECT_EQ(assign(hash, field, "short"), value);
    value = "short";
  }
  EXPECT_EQ(pairs_of(hash), pairs);
}

TEST(HashValueTest, LimitsCountNewFieldsOnly) {
  HashValue hash(7);
  EncodingLimits limits;
  limits.hash_entries = 2;
  limits.hash_value_bytes = 3;
  hash.assign("a", "1");
  EXPECT_FALSE(hash.outgrows(limits, "abc", "123"));
  EXPECT_TRUE(hash.outgrows(limits, "abcd", "1"));
  EXPECT_TRUE(hash.outgrows(limits, "a", "1234"));
  hash.assign("b", "1");
  EXPECT_FALSE(hash.outgrows(limits, "b", "2"));
  EXPECT_TRUE(hash.outgrows(limits, "c", "1"));
  limits.hash_entries = 1;
  EXPECT_TRUE(hash.outgrows(limits, "b", "2")) << "as in Redis, after the limit was lowered";
}

TEST(HashValueTest, ShrunkHashKeepsItsPairs) {
  HashValue hash(7);
  for (int i = 0; i < 500; ++i) hash.assign(std::to_string(i), std::to_string(i));
  for (int i = 2; i < 500; ++i) hash.erase(std::to_string(i));
  EXPECT_TRUE(hash.wants_to_shrink());
  const std::size_t bytes = hash.memory_bytes();
  hash.shrink();
  EXPECT_FALSE(hash.wants_to_shrink());
  EXPECT_LT(hash.memory_bytes(), bytes / 10);
  EXPECT_EQ(pairs_of(hash), (Pairs{{"0", "0"}, {"1", "1"}}));
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

TEST_P(HashFormsTest, HashAgreesWithMapUntilUndone) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  std::unordered_map<std::string, std::string> model;
  std::vector<std::variant<HashValue::Assigned, HashValue::Erased, PackedPairs>> steps;
  const auto change = [&] {
    const std::string field = random_text(random);
    const auto known = model.find(field);
    const std::optional<std::string> expected =
        known == model.end() ? std::nullopt : std::optional(known->second);
    ASSERT_EQ(hash_.contains(field), expected.has_value()) << field;
    ASSERT_EQ(hash_.find(field), expected) << field;
    ASSERT_EQ(hash_.find_integer(field), expected ? parse_int64(*expected) : std::nullopt) << field;
    if (random() % 5 < 3) {
      const std::string value = random_text(random);
      auto& done = std::get<HashValue::Assigned>(steps.emplace_back(hash_.assign(field, value)));
      ASSERT_EQ(text_of(done.old), expected);
      model[field] = value;
    } else {
      HashValue::Erased done = hash_.erase(field);
      ASSERT_EQ(text_of(done.old), expected);
      if (done.old) steps.emplace_back(std::move(done));
      model.erase(field);
    }
    ASSERT_EQ(hash_.size(), model.size());
    ASSERT_EQ(hash_.memory_bytes(), hash_.measured_bytes());
  };
  for (int round = 0; round < 50 && !HasFailure(); ++round) {
    const Pairs before = pairs_of(hash_);
    const auto model_before = model;
    ASSERT_EQ((std::unordered_map<std::string, std::string>(before.begin(), before.end())), model);
    ASSERT_EQ(before.size(), model.size());
    for (std::size_t left = random() % 1'000; left > 0 && !HasFailure(); --left) {
      change();
      if (round % 10 == 9 && !hash_.is_large() && left == 100) steps.emplace_back(hash_.grow());
    }
    if (random() % 3 == 0 || round % 10 == 9) {
      for (; !steps.empty(); steps.pop_back()) {
        std::visit([&](auto& step) { hash_.roll_back(std::move(step)); }, steps.back());
      }
      model = model_before;
      if (!GetParam()) {
        EXPECT_EQ(pairs_of(hash_), before);
      }
    }
    steps.clear();
    hash_.shrink();
  }
}

TEST(HashValueTest, CountPerUserCostsQuarterOfRedis) {
  constexpr std::int64_t kUsers = 1'000'000;
  HashValue hash(7);
  static_cast<void>(hash.grow());
  for (std::int64_t user = 0; user < kUsers; ++user) assign(hash, DecimalText(user).view(), "1");
  const double bytes_each = static_cast<double>(hash.memory_bytes()) / static_cast<double>(kUsers);
  RecordProperty("bytes_per_integer_field", std::to_string(bytes_each));
  EXPECT_LT(bytes_each, 36);
}

}  // namespace
}  // namespace rushgate
