#include <cstdint>
#include <functional>
#include <random>
#include <set>
#include <string>

#include "tests/unit/commands/command_test.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

/// Iterates with SCAN and its relatives over data that changes meanwhile.
class ScanTest : public CommandTest {
 protected:
  /// Iterates from beginning to end, with `between` after each step. Returns the names found. Each
  /// element has `width` replies, the first of which is its name.
  std::set<std::string> walk(const std::function<Reply(const std::string& cursor)>& step,
                             std::size_t width, const std::function<void()>& between) {
    std::set<std::string> met;
    std::string cursor = "0";
    do {
      const Reply reply = step(cursor);
      cursor = reply.elements()[0].text();
      const auto& elements = reply.elements()[1].elements();
      for (std::size_t i = 0; i < elements.size(); i += width) met.insert(elements[i].text());
      between();
    } while (cursor != "0");
    return met;
  }

  void expect_all(const std::string& prefix, int count, const std::set<std::string>& met) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(met.contains(prefix + std::to_string(i))) << prefix << i;
    }
  }

  const std::uint64_t seed_ = random_seed();
  std::mt19937_64 random_{seed_};
};

constexpr int kStay = 2'000;
constexpr int kOthersMax = 20'000;  // the table grows several times, and the walk overtakes it

TEST_F(ScanTest, KeysThatStayAreFound) {
  SCOPED_TRACE(seed_text(seed_));
  for (int i = 0; i < kStay; ++i) run_unchecked("SET", "stays" + std::to_string(i), i);
  int others = 0;
  const auto met = walk(
      [this](const std::string& cursor) {
        return run("SCAN", cursor, "COUNT", random_() % 100 + 1);
      },
      1,
      [&] {
        for (std::uint64_t left = random_() % 100; left > 0 && others < kOthersMax; --left)
          run_unchecked("SET", "other" + std::to_string(others++), 1);
        for (std::uint64_t left = random_() % 80; left > 0 && others > 0; --left)
          run_unchecked("DEL",
                        "other" + std::to_string(random_() % static_cast<std::uint64_t>(others)));
      });
  expect_all("stays", kStay, met);
}

TEST_F(ScanTest, MembersThatStayAreFound) {
  SCOPED_TRACE(seed_text(seed_));
  for (int i = 0; i < kStay; ++i) {
    run_unchecked("SADD", "s", i);
    run_unchecked("SADD", "s", "stays" + std::to_string(i));
  }
  int others = 0;
  const auto met = walk(
      [this](const std::string& cursor) {
        return run("SSCAN", "s", cursor, "COUNT", random_() % 100 + 1);
      },
      1,
      [&] {
        for (std::uint64_t left = random_() % 50; left > 0 && others++ < kOthersMax; --left) {
          run_unchecked("SADD", "s", random_(), "other" + std::to_string(random_() % 10'000));
          run_unchecked("SREM", "s", "other" + std::to_string(random_() % 10'000));
        }
      });
  expect_all("stays", kStay, met);
  expect_all("", kStay, met);
}

TEST_F(ScanTest, FieldsThatStayAreFoundDespiteNewValues) {
  SCOPED_TRACE(seed_text(seed_));
  for (int i = 0; i < kStay; ++i) run_unchecked("HSET", "h", i, i % 2 == 0 ? "text" : "5");
  const auto met = walk(
      [this](const std::string& cursor) {
        return run("HSCAN", "h", cursor, "COUNT", random_() % 100 + 1);
      },
      2,
      [&] {
        for (int left = 200; left > 0; --left)
          run_unchecked("HSET", "h", random_() % kStay, random_() % 2 == 0 ? "text" : "5");
      });
  expect_all("", kStay, met);
}

TEST_F(ScanTest, StepHasRequestedCount) {
  for (int i = 0; i < 3'000; ++i) run_unchecked("SET", "k" + std::to_string(i), 1);
  EXPECT_EQ(run("SCAN", 0).elements()[1].elements().size(), 10U);
  EXPECT_EQ(run("SCAN", 0, "COUNT", 1'000).elements()[1].elements().size(), 1'000U);
  EXPECT_EQ(run("SCAN", 0, "COUNT", 3'000).elements()[0].text(), "0");
}

TEST_F(ScanTest, CursorBeyondEndEndsIteration) {
  run_unchecked("SET", "k", 1);
  EXPECT_EQ(text("SCAN", "18446744073709551615"), "[\"0\", []]");
  EXPECT_EQ(text("SCAN", "281474976710656"), "[\"0\", []]");
}

}  // namespace
}  // namespace rushgate
