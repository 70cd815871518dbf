// The owner of a lock is the fiber. A waiting fiber lets other fibers of its thread run.
#include <algorithm>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>
#include <gtest/gtest.h>

#include <rushgate/engine.h>
#include <rushgate/fiber_wait.h>
#include <rushgate/locks.h>
#include <rushgate/memory_store.h>

namespace rushgate {
namespace {

TEST(FiberLocksTest, FibersOfOneThreadExcludeEachOther) {
  constexpr int kFibers = 5;
  constexpr int kEach = 20;
  const auto engine = *Engine::open(std::make_unique<MemoryStore>());
  LockManager manager(*engine, {.client = {.wait = &fiber_wait()}});
  int counter = 0;
  bool is_inside = false;
  std::vector<boost::fibers::fiber> fibers;
  for (int i = 0; i < kFibers; ++i) {
    fibers.emplace_back([&] {
      ReentrantLock lock(manager, "shop");
      for (int n = 0; n < kEach; ++n) {
        const std::lock_guard held(lock);
        EXPECT_FALSE(std::exchange(is_inside, true));
        boost::this_fiber::yield();
        is_inside = false;
        ++counter;
      }
    });
  }
  for (auto& fiber : fibers) fiber.join();
  EXPECT_EQ(counter, kFibers * kEach);
}

TEST(FiberLocksTest, FiberIsReentrantAndOthersAreNot) {
  const auto engine = *Engine::open(std::make_unique<MemoryStore>());
  LockManager manager(*engine, {.client = {.wait = &fiber_wait()}});
  ReentrantLock lock(manager, "shop");
  boost::fibers::fiber([&] {
    ASSERT_TRUE(*lock.try_acquire(0));
    EXPECT_TRUE(*lock.try_acquire(0));
    boost::fibers::fiber([&] { EXPECT_FALSE(*lock.try_acquire(0)); }).join();
    EXPECT_TRUE(lock.release().ok());
    EXPECT_TRUE(lock.release().ok());
  }).join();
}

TEST(FiberLocksTest, FibersShareReadLockAndWaitToWrite) {
  constexpr int kReaders = 3;
  const auto engine = *Engine::open(std::make_unique<MemoryStore>());
  LockManager manager(*engine, {.client = {.wait = &fiber_wait()}});
  ReadWriteLock lock(manager, "shop");
  int readers = 0;
  int readers_seen = 0;
  std::vector<boost::fibers::fiber> fibers;
  for (int i = 0; i < kReaders; ++i) {
    fibers.emplace_back([&] {
      const std::shared_lock reading(lock);
      ++readers;
      while (readers_seen < kReaders) {
        readers_seen = std::max(readers_seen, readers);
        boost::this_fiber::yield();
      }
      --readers;
    });
  }
  fibers.emplace_back([&] {
    while (readers == 0) boost::this_fiber::yield();
    const std::unique_lock writing(lock);
    EXPECT_EQ(readers, 0);
  });
  for (auto& fiber : fibers) fiber.join();
  EXPECT_EQ(readers_seen, kReaders);
}

}  // namespace
}  // namespace rushgate
