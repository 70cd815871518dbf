#include "engine/redis/commands/drawing.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/commands/command_test.h"

namespace rushgate {
namespace {

SetValue set_of(int members) {
  SetValue set;
  for (int i = 0; i < members; ++i) {
    set.insert(std::to_string(i), {}, 7);
    set.insert("m" + std::to_string(i), {}, 7);
  }
  return set;
}

TEST(DrawingTest, DrawnElementsAreDistinct) {
  Random random(7);
  const SetValue set = set_of(500);
  for (const std::size_t count : {0U, 1U, 10U, 400U, 999U, 1'000U, 5'000U}) {
    const auto drawn = draw_different(set, count, random);
    EXPECT_EQ(std::set<std::string>(drawn.begin(), drawn.end()).size(), drawn.size());
    EXPECT_EQ(drawn.size(), std::min<std::size_t>(count, set.size()));
    for (const std::string& member : drawn) EXPECT_TRUE(set.contains(member));
  }
}

TEST(DrawingTest, ElementsAreDrawnAboutEquallyOften) {
  Random random(7);
  for (const int members : {3, 100, 2'000}) {
    const SetValue set = set_of(members);
    constexpr std::size_t kEach = 200;
    std::map<std::string, std::size_t> times;
    const auto drawn = draw_any(set, set.size() * kEach, random, 1'000'000'000);
    for (const std::string& member : *drawn) ++times[member];
    EXPECT_EQ(times.size(), set.size());
    for (const auto& [member, count] : times) {
      EXPECT_GT(count, kEach / 2) << member;
      EXPECT_LT(count, kEach * 2) << member;
    }
  }
}

TEST(DrawingTest, FewRemainingElementsAreFound) {
  Random random(7);
  SetValue set = set_of(20'000);
  for (int i = 1; i < 20'000; ++i) set.erase(std::to_string(i));
  for (int i = 0; i < 20'000; ++i) set.erase("m" + std::to_string(i));
  EXPECT_EQ(set.draw(random), "0");
}

using DrawingCommandsTest = CommandTest;

TEST_F(DrawingCommandsTest, SameSeedGivesSameResult) {
  const auto draws = [this] {
    keyspace().random() = Random(42);
    std::string all;
    for (int i = 0; i < 50; ++i) run("SADD", "s", i);
    for (int i = 0; i < 50; ++i) all += text("SRANDMEMBER", "s") + text("SPOP", "s");
    return all;
  };
  EXPECT_EQ(draws(), draws());
}

TEST_F(DrawingCommandsTest, SpopRemovesReturnedMembers) {
  for (int i = 0; i < 100; ++i) run("SADD", "s", i, "m" + std::to_string(i));
  run("PEXPIRE", "s", 1'000);
  std::set<std::string> left;
  const Reply all = run("SMEMBERS", "s");
  for (const Reply& member : all.elements()) left.insert(member.text());
  for (const int count : {1, 30, 160, 4, 5}) {
    const Reply popped = run("SPOP", "s", count);
    for (const Reply& member : popped.elements())
      EXPECT_EQ(left.erase(member.text()), 1U) << member.text();
    EXPECT_EQ(run("SCARD", "s").integer(), static_cast<std::int64_t>(left.size()));
    if (!left.empty()) {
      EXPECT_EQ(text("PTTL", "s"), "(integer) 1000");
    }
    commit();
  }
  EXPECT_EQ(text("EXISTS", "s"), "(integer) 0");
}

TEST_F(DrawingCommandsTest, CountBeyondMemoryIsRefused) {
  run("SADD", "s", 1);
  run("HSET", "h", 1, 1);
  EXPECT_EQ(text("SRANDMEMBER", "s", -10'000'001), "(error) ERR value is out of range");
  EXPECT_EQ(text("HRANDFIELD", "h", -10'000'001), "(error) ERR value is out of range");
}

}  // namespace
}  // namespace rushgate
