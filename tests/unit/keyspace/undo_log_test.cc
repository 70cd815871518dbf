#include "engine/redis/keyspace/undo_log.h"

#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

TEST(UndoLogTest, NewestStepIsRolledBackFirst) {
  UndoLog log;
  std::string order;
  for (const char name : {'a', 'b', 'c'}) log.push([&order, name] { order += name; });
  log.roll_back_to(0);
  EXPECT_EQ(order, "cba");
  EXPECT_EQ(log.size(), 0U);
}

TEST(UndoLogTest, RollbackToAnyPointAllowsNewSteps) {
  UndoLog log;
  std::string order;
  log.push([&] { order += 'a'; });
  const std::size_t point = log.size();
  log.push([&] { order += 'b'; });
  log.push([&] { order += 'c'; });
  log.roll_back_to(point);
  EXPECT_EQ(order, "cb");
  log.push([&] { order += 'd'; });
  log.roll_back_to(0);
  EXPECT_EQ(order, "cbda");
}

TEST(UndoLogTest, ForgottenStepsDoNotRun) {
  UndoLog log;
  bool ran = false;
  log.push([&] { ran = true; });
  log.forget();
  log.roll_back_to(0);
  EXPECT_FALSE(ran);
}

TEST(UndoLogTest, StepsReleaseTheirDataOnce) {
  const auto owned = std::make_shared<int>(1);
  {
    UndoLog log;
    log.push([held = owned] { static_cast<void>(held); });
    log.push([held = owned] { static_cast<void>(held); });
    EXPECT_EQ(owned.use_count(), 3);
    log.roll_back_to(1);
    EXPECT_EQ(owned.use_count(), 2);
    log.forget();
    EXPECT_EQ(owned.use_count(), 1);
    log.push([held = owned] { static_cast<void>(held); });
  }
  EXPECT_EQ(owned.use_count(), 1) << "a destroyed log still owns it";
}

TEST(UndoLogTest, StepMayBeLargerThanChunk) {
  UndoLog log;
  std::array<unsigned char, 200'000> large;
  large.fill(7);
  int sum = 0;
  for (int i = 0; i < 3; ++i) log.push([&sum, large] { sum += large.front() + large.back(); });
  log.push([&sum] { ++sum; });
  log.roll_back_to(0);
  EXPECT_EQ(sum, 43);
}

TEST(UndoLogTest, RandomHistoryIsRolledBack) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  UndoLog log;
  std::vector<int> numbers(50);
  std::vector<std::pair<std::size_t, std::vector<int>>> points;
  for (int step = 0; step < 200'000; ++step) {
    if (random() % 100 == 0) points.emplace_back(log.size(), numbers);
    if (random() % 500 == 0 && !points.empty()) {
      const std::size_t chosen = random() % points.size();
      log.roll_back_to(points[chosen].first);
      ASSERT_EQ(numbers, points[chosen].second);
      points.resize(chosen);
    }
    if (random() % 20'000 == 0) {
      log.forget();
      points.clear();
    }
    int& number = numbers[random() % numbers.size()];
    if (random() % 2 == 0) {
      log.push([&number, old = number] { number = old; });
    } else {  // a step that owns memory
      log.push([&number, old = std::make_unique<int>(number)] { number = *old; });
    }
    number = step;
  }
}

}  // namespace
}  // namespace rushgate
