// Fibers park, threads sleep; both see the same engine.
#include "engine/executor/fiber_client.h"

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>

#include "tests/executor/engine_fixture.h"

namespace rushgate {
namespace {

TEST(FiberClientTest, AThousandFibersOnOneThreadLoseNoIncrement) {
  const auto engine = open_engine();
  FiberClient client(*engine);
  std::vector<boost::fibers::fiber> fibers;
  for (int f = 0; f < 1'000; ++f) {
    fibers.emplace_back([&] {
      for (int i = 0; i < 20; ++i) client("INCR", "n");
    });
  }
  for (auto& fiber : fibers) fiber.join();
  EXPECT_EQ(client("GET", "n"), Reply::bulk("20000"));
}

TEST(FiberClientTest, OtherFibersRunWhileOneWaits) {
  const auto engine = open_engine();
  FiberClient client(*engine);
  Reply read;
  boost::fibers::fiber reader([&] { read = client("XREAD", "BLOCK", 0, "STREAMS", "s", "0"); });
  boost::fibers::fiber writer([&] { client("XADD", "s", "1-1", "f", "v"); });
  reader.join();
  writer.join();
  EXPECT_EQ(to_debug_string(read), R"([["s", [["1-1", ["f", "v"]]]]])");
}

TEST(FiberClientTest, APipelineIsAnsweredInOrder) {
  const auto engine = open_engine();
  FiberClient client(*engine);
  std::vector<Request> requests;
  for (int i = 0; i < 500; ++i) requests.push_back(Request::of("INCR", "n"));
  const auto replies = client.pipeline(std::move(requests));
  for (std::size_t i = 0; i < replies.size(); ++i)
    EXPECT_EQ(replies[i], Reply::integer(static_cast<std::int64_t>(i + 1)));
}

TEST(FiberClientTest, FibersAndThreadsTogetherLoseNoIncrement) {
  const auto engine = open_engine();
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      FiberClient client(*engine);
      std::vector<boost::fibers::fiber> fibers;
      for (int f = 0; f < 100; ++f) {
        fibers.emplace_back([&] {
          for (int i = 0; i < 20; ++i) client("INCR", "n");
        });
      }
      for (auto& fiber : fibers) fiber.join();
    });
    threads.emplace_back([&] {
      const auto client = engine->open_client();
      for (int i = 0; i < 2'000; ++i) (*client)("INCR", "n");
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ((*engine->open_client())("GET", "n"), Reply::bulk("8000"));
}

}  // namespace
}  // namespace rushgate
