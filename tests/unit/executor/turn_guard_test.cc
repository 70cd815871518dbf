// An exception outside a request ends the commit batch, but neither the turn nor the engine.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "engine/redis/executor/embedded_client.h"
#include "engine/redis/executor/executor.h"
#include "tests/support/faults/throwing_clock.h"
#include <rushgate/memory_store.h>

namespace rushgate {
namespace {

TEST(TurnGuardTest, ExceptionAnywhereEndsBatchAlone) {
  ThrowingClock::Plan plan{.thread = std::this_thread::get_id(), .looks_before = {}};
  const auto executor = std::make_shared<Executor>(std::make_unique<MemoryStore>(), EngineOptions{},
                                                   std::make_unique<ThrowingClock>(plan));
  ASSERT_TRUE(executor->start({}).ok());
  EmbeddedClient client(executor, {});
  client("SET", "expires", 1, "EX", 1'000);  // so that the clock is also read after the commit
  int failed = 0;
  std::int64_t kept = 0;
  int kept_elsewhere = 0;
  bool has_thrown = true;
  for (std::uint64_t before = 0; has_thrown && !::testing::Test::HasFailure();) {
    SCOPED_TRACE(before);
    plan.looks_before = before;
    const Reply reply = client("INCR", "n");
    const auto left = std::exchange(plan.looks_before, std::nullopt);
    const bool ran_elsewhere = left == before;  // the service thread was at work
    has_thrown = !left || ran_elsewhere;
    if (ran_elsewhere) {
      ++kept_elsewhere;
    } else {
      ++before;
    }
    reply.is_error() ? ++failed : ++kept;
    EXPECT_EQ(client("INCRBY", "n", 0), Reply::integer(kept)) << to_debug_string(reply);
  }
  EXPECT_GE(failed, 1);
  EXPECT_GE(kept - kept_elsewhere, 2) << "the clock is read once after the commit";
  executor->close();
}

}  // namespace
}  // namespace rushgate
