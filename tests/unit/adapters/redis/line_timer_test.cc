// The timer of a connection.
#include "adapters/redis/line_timer.h"

#include <gtest/gtest.h>

namespace rushgate {
namespace {

TEST(LineTimerTest, StoppedTimerDoesNotRunThoughDue) {
  boost::asio::io_context io;
  LineTimer first(io);
  LineTimer second(io);
  bool has_run = false;
  first.start(0, [&] { second.stop(); });  // both timers are due by then
  second.start(0, [&] { has_run = true; });
  io.run();
  EXPECT_FALSE(has_run);
}

TEST(LineTimerTest, StartReplacesEarlierOne) {
  boost::asio::io_context io;
  LineTimer first(io);
  LineTimer second(io);
  int runs = 0;
  first.start(0, [&] { second.start(0, [&] { runs += 10; }); });
  second.start(0, [&] { ++runs; });
  io.run();
  EXPECT_EQ(runs, 10);
}

}  // namespace
}  // namespace rushgate
