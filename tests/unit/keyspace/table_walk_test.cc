#include "engine/redis/keyspace/table_walk.h"

#include <cstdint>
#include <random>
#include <unordered_map>

#include <gtest/gtest.h>

#include "engine/redis/keyspace/hashing.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

struct KeyPolicy {
  using Item = std::int64_t;
  static std::uint64_t hash(std::int64_t key, std::uint64_t seed) {
    return hash_integer(key, seed);
  }
  static bool matches(std::int64_t item, std::int64_t key) { return item == key; }
};
using Table = SegmentedTable<KeyPolicy>;

/// Uses the key as its hash, so that a test chooses the position of each item.
struct WalkedHash {
  using Item = std::uint64_t;
  static std::uint64_t hash(std::uint64_t key, std::uint64_t) { return key; }
  static bool matches(std::uint64_t item, std::uint64_t key) { return item == key; }
};

/// Walks from beginning to end while other items come and go. Returns the items visited.
std::unordered_map<std::int64_t, int> walk(Table& table, std::int64_t stay,
                                           std::mt19937_64& random) {
  std::unordered_map<std::int64_t, int> met;
  const auto any_other = [&] { return stay + static_cast<std::int64_t>(random() % 20'000); };
  for (std::uint64_t at = 0; at < Table::kPositionEnd;) {
    const std::uint64_t end = step_end(table, at, random() % 200 + 1);
    EXPECT_GT(end, at);
    for_each_between(table, at, end, [&](std::int64_t key) { ++met[key]; });
    at = end;
    const bool growing = random() % 3 != 0;
    for (std::uint64_t left = random() % 1'000; left > 0; --left) {
      const std::int64_t key = any_other();
      if (!growing) {
        table.erase(key);
      } else if (!table.contains(key)) {
        table.insert(key);
      }
    }
  }
  return met;
}

TEST(TableWalkTest, WalkVisitsStayingItemsOnce) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 30; ++round) {
    const std::int64_t stay = std::int64_t{1} << random() % 13;
    Table table(random());
    for (std::int64_t i = 0; i < stay; ++i) table.insert(i);
    const auto met = walk(table, stay, random);
    for (std::int64_t i = 0; i < stay; ++i) {
      const auto found = met.find(i);
      ASSERT_TRUE(found != met.end()) << "round " << round << ", item " << i;
      ASSERT_EQ(found->second, 1);
    }
  }
}

TEST(TableWalkTest, StepHasExactlyRequestedItems) {
  Table table(7);
  for (std::int64_t i = 0; i < 5'000; ++i) table.insert(i);
  std::size_t steps = 0;
  for (std::uint64_t at = 0; at < Table::kPositionEnd; ++steps) {
    const std::uint64_t end = step_end(table, at, 100);
    std::size_t count = 0;
    for_each_between(table, at, end, [&](std::int64_t) { ++count; });
    EXPECT_EQ(count, 100U);
    at = end;
  }
  EXPECT_EQ(steps, 50U);
}

TEST(TableWalkTest, StepThroughEmptySegmentsEnds) {
  Table table(7);
  for (std::int64_t i = 0; i < 100'000; ++i) table.insert(i);
  for (std::int64_t i = 0; i < 100'000; ++i) table.erase(i);
  EXPECT_LT(step_end(table, 0, 1), Table::kPositionEnd);
  EXPECT_EQ(step_end(Table(), 0, 1), Table::kPositionEnd);
}

TEST(TableWalkTest, ItemsOfOnePositionAreVisitedTogether) {
  SegmentedTable<WalkedHash> table;
  for (std::uint64_t i = 0; i < 3'000; ++i) table.insert(i);  // they differ below the position
  for (std::uint64_t i = 1; i < 10; ++i) table.insert(i << 60);
  const std::uint64_t end = step_end(table, 0, 1);
  std::size_t count = 0;
  for_each_between(table, 0, end, [&](std::uint64_t) { ++count; });
  EXPECT_EQ(count, 3'000U);
  for_each_between(table, end, table.kPositionEnd, [&](std::uint64_t) { ++count; });
  EXPECT_EQ(count, 3'009U);
}

}  // namespace
}  // namespace rushgate
