// A fiber that waits for a load lets other fibers of its thread run.
#include <memory>
#include <vector>

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>
#include <gtest/gtest.h>

#include <rushgate/cache.h>
#include <rushgate/engine.h>
#include <rushgate/fiber_wait.h>
#include <rushgate/memory_store.h>

namespace rushgate {
namespace {

TEST(FiberCacheTest, FibersOfOneThreadLoadOnce) {
  const auto engine = *Engine::open(std::make_unique<MemoryStore>());
  const auto cache = *Cache::create(*engine, {.client = {.wait = &fiber_wait()}});
  int loads = 0;
  const auto load = [&]() -> absl::StatusOr<Cache::Value> {
    for (int i = 0; i < 100; ++i) boost::this_fiber::yield();
    ++loads;
    return "row";
  };
  std::vector<boost::fibers::fiber> fibers;
  for (int i = 0; i < 10; ++i) {
    fibers.emplace_back([&] { EXPECT_EQ(*cache->get_or_load("shop", load), "row"); });
  }
  for (auto& fiber : fibers) fiber.join();
  EXPECT_EQ(loads, 1);
}

}  // namespace
}  // namespace rushgate
