#include "engine/keyspace/set_value.h"

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>

#include "engine/base/numbers.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

std::vector<std::string> members_of(const SetValue& set) {
  std::vector<std::string> members;
  set.for_each([&](std::string_view member) { members.emplace_back(member); });
  return members;
}

TEST(SetValueTest, InsertAndEraseReportChange) {
  SetValue set(7);
  for (const std::string_view member : {"17", "text", ""}) {
    EXPECT_TRUE(set.insert(member));
    EXPECT_FALSE(set.insert(member));
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
  SetValue set(7);
  set.insert("5");
  for (const std::string_view other : {"05", "+5", " 5", "5 ", "5.0"}) {
    EXPECT_FALSE(set.contains(other));
    EXPECT_TRUE(set.insert(other));
  }
  EXPECT_EQ(set.size(), 6U);
  EXPECT_TRUE(set.erase("5"));
  EXPECT_TRUE(set.contains("05"));
}

/// Returns a member that is easily confused: numbers in and out of canonical form, both ends of the
/// range, and strings.
std::string random_member(std::mt19937_64& random) {
  const std::uint64_t number = random() % 3'000;
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
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  SetValue set(seed);
  std::unordered_set<std::string> model;
  for (int step = 0; step < 200'000; ++step) {
    const std::string member = random_member(random);
    ASSERT_EQ(set.contains(member), model.contains(member)) << member;
    if (random() % 5 < (step / 50'000 % 2 == 0 ? 3U : 2U)) {
      ASSERT_EQ(set.insert(member), model.insert(member).second) << member;
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
  SetValue one(7);
  SetValue same(7);
  for (SetValue* set : {&one, &same}) {
    for (int i = 0; i < 3'000; ++i) {
      set->insert(std::to_string(i));
      set->insert("user:" + std::to_string(i));
    }
  }
  EXPECT_EQ(members_of(one), members_of(same));
}

// Redis needs 56 bytes for each of ten million users.
TEST(SetValueTest, TenMillionUsersCostFifteenBytesEach) {
  constexpr std::int64_t kUsers = 10'000'000;
  SetValue set(7);
  for (std::int64_t user = 0; user < kUsers; ++user)
    set.insert(DecimalText(1'000'000'000 + user).view());
  ASSERT_EQ(set.size(), static_cast<std::size_t>(kUsers));
  const double bytes_each = static_cast<double>(set.memory_bytes()) / static_cast<double>(kUsers);
  RecordProperty("bytes_per_integer_member", std::to_string(bytes_each));
  EXPECT_LT(bytes_each, 18);
}

}  // namespace
}  // namespace rushgate
