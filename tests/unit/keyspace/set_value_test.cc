#include "engine/redis/keyspace/set_value.h"

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/core/base/numbers.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

constexpr EncodingLimits kSetLimits;
constexpr std::uint64_t kSeed = 7;

std::vector<std::string> members_of(const SetValue& set) {
  std::vector<std::string> members;
  set.for_each([&](std::string_view member) { members.emplace_back(member); });
  return members;
}

TEST(SetValueTest, InsertAndEraseReportChange) {
  SetValue set;
  for (const std::string_view member : {"17", "text", ""}) {
    EXPECT_TRUE(set.insert(member, kSetLimits, kSeed));
    EXPECT_FALSE(set.insert(member, kSetLimits, kSeed));
    EXPECT_TRUE(set.contains(member));
  }
  EXPECT_EQ(set.size(), 3U);
  for (const std::string_view member : {"17", "text", ""}) {
    EXPECT_TRUE(set.erase(member));
    EXPECT_FALSE(set.erase(member));
    EXPECT_FALSE(set.contains(member));
  }
  EXPECT_EQ(set.size(), 0U);
}

TEST(SetValueTest, OnlyCanonicalFormIsInteger) {
  SetValue set;
  set.insert("5", kSetLimits, kSeed);
  for (const std::string_view other : {"05", "+5", " 5", "5 ", "5.0"}) {
    EXPECT_FALSE(set.contains(other));
    EXPECT_TRUE(set.insert(other, kSetLimits, kSeed));
  }
  EXPECT_EQ(set.size(), 6U);
  EXPECT_TRUE(set.erase("5"));
  EXPECT_TRUE(set.contains("05"));
}

/// Returns a member that is easily confused: numbers in and out of canonical form, both ends of the
/// range, and strings.
std::string random_member(std::mt19937_64& random, std::uint64_t numbers) {
  const std::uint64_t number = random() % numbers;
  switch (random() % 5) {
    case 0:
      return "0" + std::to_string(number);
    case 1:
      return "user:" + std::to_string(number);
    case 2:
      return std::to_string(9'223'372'036'854'774'308ULL +
                            number);  // the last of them exceed int64
    case 3:
      return "-" + std::to_string(number);
    default:
      return std::to_string(number);
  }
}

TEST(SetValueTest, SetAgreesWithUnorderedSet) {
  constexpr std::uint64_t kFew = 20;  // of each kind: packed most of the time
  constexpr std::uint64_t kMany = 3'000;
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  SetValue set;
  std::unordered_set<std::string> model;
  for (int step = 0; step < 200'000; ++step) {
    if (step % 1'000 == 0 && set.size() < 64) set.pack(kSetLimits);
    const std::string member = random_member(random, step < 50'000 ? kFew : kMany);
    ASSERT_EQ(set.contains(member), model.contains(member)) << member;
    if (random() % 5 < (step / 50'000 % 2 == 0 ? 3U : 2U)) {
      ASSERT_EQ(set.insert(member, kSetLimits, seed), model.insert(member).second) << member;
    } else {
      ASSERT_EQ(set.erase(member), model.erase(member) == 1) << member;
    }
    ASSERT_EQ(set.size(), model.size());
  }
  const std::vector<std::string> members = members_of(set);
  EXPECT_EQ(std::unordered_set<std::string>(members.begin(), members.end()), model);
  EXPECT_EQ(members.size(), model.size());
}

TEST(SetValueTest, EqualSeedsAndHistoriesGiveEqualOrders) {
  SetValue one;
  SetValue same;
  for (SetValue* set : {&one, &same}) {
    for (int i = 0; i < 3'000; ++i) {
      set->insert(std::to_string(i), kSetLimits, kSeed);
      set->insert("user:" + std::to_string(i), kSetLimits, kSeed);
    }
  }
  EXPECT_EQ(members_of(one), members_of(same));
}

TEST(SetValueTest, SmallSetIsAscending) {
  SetValue set;
  for (const char* const member :
       {"5", "-3", "100", "9223372036854775807", "0", "-9223372036854775808", "7", "5"}) {
    set.insert(member, kSetLimits, kSeed);
  }
  set.erase("7");
  EXPECT_FALSE(set.is_large());
  EXPECT_EQ(members_of(set), (std::vector<std::string>{"-9223372036854775808", "-3", "0", "5",
                                                       "100", "9223372036854775807"}));
}

TEST(SetValueTest, StringOrMemberAboveLimitMakesItLarge) {
  SetValue with_text;
  with_text.insert("1", kSetLimits, kSeed);
  with_text.insert("a", kSetLimits, kSeed);
  EXPECT_TRUE(with_text.is_large());
  with_text.erase("a");
  EXPECT_TRUE(with_text.is_large());
  with_text.pack(kSetLimits);
  EXPECT_FALSE(with_text.is_large());
  SetValue many;
  for (int i = 0; i < 512; ++i) many.insert(std::to_string(i), kSetLimits, kSeed);
  many.insert("511", kSetLimits, kSeed);
  EXPECT_FALSE(many.is_large());
  many.insert("512", kSetLimits, kSeed);
  EXPECT_TRUE(many.is_large());
  many.pack(kSetLimits);
  EXPECT_TRUE(many.is_large());
  EXPECT_EQ(many.size(), 513U);
}

TEST(SetValueTest, UndoneGrowthRestoresForm) {
  SetValue set;
  for (int i = 40; i > 0; --i) set.insert_integer(i);
  const std::vector<std::string> integers = members_of(set);
  set.erase_integer(17);
  SetValue::Packed packed_integers = set.grow(MaybeInteger("text"), kSeed);
  set.insert_text("text");
  const std::vector<std::string> with_text = members_of(set);
  EXPECT_EQ(with_text.back(), "text");

  SetValue::Packed packed_members = set.make_tables(kSeed);
  EXPECT_TRUE(set.contains("18"));
  EXPECT_FALSE(set.contains("17"));
  EXPECT_TRUE(set.contains("text"));
  set.insert_text("more");
  set.take_text("more");

  set.roll_back(std::move(packed_members));
  EXPECT_EQ(members_of(set), with_text);
  set.take_text("text");
  set.roll_back(std::move(packed_integers));
  set.insert_integer(17);
  EXPECT_FALSE(set.is_large());
  EXPECT_EQ(members_of(set), integers);
}

TEST(SetValueTest, SmallSetOfStringsNeedsLittleMemory) {
  SetValue set;
  for (int i = 0; i < 64; ++i) {
    set.insert("member:" + std::to_string(i), kSetLimits, kSeed);
    set.shrink();
    EXPECT_LT(set.memory_bytes(), 100 + 16 * set.size());
  }
  const std::vector<std::string> members = members_of(set);
  EXPECT_EQ(members.front(), "member:0");
  EXPECT_EQ(members.back(), "member:63");
  for (const std::string& more : {std::string("member:64"), std::string(65, 'x')}) {
    SetValue grown;
    grown.copy_members(set);
    if (more.size() > 64) grown.erase("member:0");
    grown.insert(more, kSetLimits, kSeed);
    EXPECT_GT(grown.memory_bytes(), 2 * set.memory_bytes());
    EXPECT_TRUE(grown.contains(more));
    EXPECT_TRUE(grown.contains("member:63"));
    EXPECT_EQ(grown.memory_bytes(), grown.measured_bytes());
    if (grown.erase("member:1") && more.size() <= 64) {
      grown.pack(kSetLimits);
      EXPECT_LT(grown.memory_bytes(), 2 * set.memory_bytes());
    }
    EXPECT_TRUE(grown.contains(more));
  }
}

TEST(SetValueTest, ShrunkSetKeepsItsMembers) {
  SetValue set;
  for (int i = 0; i < 500; ++i) set.insert_integer(i);
  for (int i = 2; i < 500; ++i) set.erase_integer(i);
  EXPECT_TRUE(set.wants_to_shrink());
  const std::size_t bytes = set.memory_bytes();
  set.shrink();
  EXPECT_FALSE(set.wants_to_shrink());
  EXPECT_LT(set.memory_bytes(), bytes / 10);
  EXPECT_EQ(members_of(set), (std::vector<std::string>{"0", "1"}));
}

// Redis needs 56 bytes for each of ten million users.
TEST(SetValueTest, TenMillionUsersCostFifteenBytesEach) {
  constexpr std::int64_t kUsers = 10'000'000;
  SetValue set;
  for (std::int64_t user = 0; user < kUsers; ++user)
    set.insert(DecimalText(1'000'000'000 + user).view(), kSetLimits, kSeed);
  ASSERT_EQ(set.size(), static_cast<std::size_t>(kUsers));
  const double bytes_each = static_cast<double>(set.memory_bytes()) / static_cast<double>(kUsers);
  RecordProperty("bytes_per_integer_member", std::to_string(bytes_each));
  EXPECT_LT(bytes_each, 18);
}

}  // namespace
}  // namespace rushgate
