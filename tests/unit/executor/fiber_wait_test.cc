// Fibers suspend and threads sleep while they wait for the same engine.
#include <atomic>
#include <latch>
#include <thread>

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>

#include "tests/unit/executor/engine_fixture.h"
#include <rushgate/fiber_wait.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

std::unique_ptr<Client> fiber_client(Backend& backend, ClientOptions options = {}) {
  options.wait = &fiber_wait();
  return backend.open_client(options);
}

TEST(FiberWaitTest, ThousandFibersLoseNoIncrement) {
  const auto engine = open_engine();
  const auto client = fiber_client(*engine);
  std::vector<boost::fibers::fiber> fibers;
  for (int f = 0; f < 1'000; ++f) {
    fibers.emplace_back([&] {
      for (int i = 0; i < 20; ++i) (*client)("INCR", "n");
    });
  }
  for (auto& fiber : fibers) fiber.join();
  EXPECT_EQ((*client)("GET", "n"), Reply::bulk("20000"));
}

TEST(FiberWaitTest, OtherFibersRunWhileOneWaits) {
  const auto engine = open_engine();
  const auto client = fiber_client(*engine);
  Reply read;
  boost::fibers::fiber reader([&] { read = (*client)("XREAD", "BLOCK", 0, "STREAMS", "s", "0"); });
  boost::fibers::fiber writer([&] { (*client)("XADD", "s", "1-1", "f", "v"); });
  reader.join();
  writer.join();
  EXPECT_EQ(to_debug_string(read), R"([["s", [["1-1", ["f", "v"]]]]])");
}

TEST(FiberWaitTest, PipelineRepliesComeInOrder) {
  const auto engine = open_engine();
  const auto client = fiber_client(*engine);
  std::vector<Request> requests;
  for (int i = 0; i < 500; ++i) requests.push_back(Request::of("INCR", "n"));
  const auto replies = client->pipeline(requests);
  for (std::size_t i = 0; i < replies.size(); ++i)
    EXPECT_EQ(replies[i], Reply::integer(static_cast<std::int64_t>(i + 1)));
}

TEST(FiberWaitTest, PipelineIsOneBatch) {
  auto store = std::make_unique<faults::FaultyStore>(std::make_unique<MemoryStore>());
  const faults::FaultyStore& commits_of = *store;
  const auto engine = open_engine({}, {}, std::move(store));
  const auto client = fiber_client(*engine);
  const int before = commits_of.commits();
  const std::vector<Request> requests(100, Request::of("INCR", "n"));
  boost::fibers::fiber caller(
      [&] { EXPECT_EQ(client->pipeline(requests).back(), Reply::integer(100)); });
  caller.join();
  EXPECT_EQ(commits_of.commits(), before + 1);
}

TEST(FiberWaitTest, PipelineUsesProtocolOfItsClient) {
  const auto engine = open_engine();
  const std::vector<Request> requests = {Request::of("HSET", "h", "f", "v"),
                                         Request::of("HGETALL", "h")};
  const std::vector<Reply> pair = {Reply::bulk("f"), Reply::bulk("v")};
  EXPECT_EQ(fiber_client(*engine)->pipeline(requests).back(), Reply::array(pair));
  EXPECT_EQ(fiber_client(*engine, {.protocol = 3})->pipeline(requests).back(), Reply::map(pair));
}

TEST(FiberWaitTest, CallInsideTurnIsError) {
  Client* used = nullptr;
  const auto engine = open_engine({}, {{"again", [&](NativeCall&) {
                                          const Reply one = (*used)("PING");
                                          const std::vector<Request> two(2, Request::of("PING"));
                                          EXPECT_EQ(used->pipeline(two), std::vector(2, one));
                                          return one;
                                        }}});
  const auto client = fiber_client(*engine);
  used = client.get();
  EXPECT_EQ((*client)("FCALL", "again", 0).error_code(), "REENTRANT");
}

TEST(FiberWaitTest, FibersAndThreadsTogetherLoseNoIncrement) {
  const auto engine = open_engine();
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      const auto client = fiber_client(*engine);
      std::vector<boost::fibers::fiber> fibers;
      for (int f = 0; f < 100; ++f) {
        fibers.emplace_back([&] {
          for (int i = 0; i < 20; ++i) (*client)("INCR", "n");
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

TEST(FiberWaitTest, FiberWaitWorksInCompletion) {
  for (const auto policy :
       {EngineOptions::Policy::kCallers, EngineOptions::Policy::kServiceThreadOnly}) {
    const auto engine = open_engine({.policy = policy});
    const auto client = fiber_client(*engine);
    std::latch ended(1);
    client->submit(Request::of("INCR", "n"), [&](Reply) {
      EXPECT_EQ((*client)("INCR", "n"), Reply::integer(2));
      std::vector<Request> requests(3, Request::of("INCR", "n"));
      EXPECT_EQ(client->pipeline(requests).back(), Reply::integer(5));
      ended.count_down();
    });
    ended.wait();
  }
}

TEST(FiberWaitTest, FiberWaitWorksInManualModeCompletion) {
  ManualClock clock;
  const auto engine = open_engine({.manual_clock = &clock});
  const auto client = fiber_client(*engine);
  Reply inner;
  client->submit(Request::of("INCR", "n"), [&](Reply) { inner = (*client)("INCR", "n"); });
  EXPECT_EQ(inner, Reply::integer(2));
}

// Lua and native scripts need more stack than a fiber has.
TEST(FiberWaitTest, FullQueueRunsNoCommandOnFiber) {
  std::atomic<bool> ran_elsewhere = true;
  const std::thread::id here = std::this_thread::get_id();
  const auto engine = open_engine({.queue_capacity = 2}, {{"where", [&](NativeCall&) {
                                                             if (std::this_thread::get_id() == here)
                                                               ran_elsewhere = false;
                                                             return Reply::ok();
                                                           }}});
  const auto client = fiber_client(*engine);
  std::vector<boost::fibers::fiber> fibers;
  for (int f = 0; f < 500; ++f) {
    fibers.emplace_back([&] {
      for (int i = 0; i < 10; ++i) (*client)("FCALL", "where", 0);
    });
  }
  for (auto& fiber : fibers) fiber.join();
  EXPECT_TRUE(ran_elsewhere);
}

}  // namespace
}  // namespace rushgate
