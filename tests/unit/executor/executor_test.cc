// Order and concurrency of execution: threads, commit batches, the queue, close.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <latch>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "tests/unit/executor/engine_fixture.h"
#include "tests/unit/executor/holder.h"
#include <rushgate/engine.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

class PolicyTest : public ::testing::TestWithParam<EngineOptions::Policy> {};

INSTANTIATE_TEST_SUITE_P(Policies, PolicyTest,
                         ::testing::Values(EngineOptions::Policy::kCallers,
                                           EngineOptions::Policy::kServiceThreadOnly));

TEST_P(PolicyTest, CallGetsReply) {
  const auto engine = open_engine({.policy = GetParam()});
  const auto client = engine->open_client();
  EXPECT_EQ((*client)("SET", "k", "v"), Reply::ok());
  EXPECT_EQ((*client)("GET", "k"), Reply::bulk("v"));
}

TEST_P(PolicyTest, EightThreadsLoseNoIncrement) {
  const auto engine = open_engine({.policy = GetParam()});
  constexpr int kThreads = 8;
  constexpr int kEach = 5'000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      const auto client = engine->open_client();
      for (int i = 0; i < kEach; ++i) (*client)("INCR", "n");
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ((*engine->open_client())("GET", "n"), Reply::bulk(std::to_string(kThreads * kEach)));
}

TEST_P(PolicyTest, PipelinesOfManyThreadsStayInOrder) {
  const auto engine =
      open_engine({.policy = GetParam(), .queue_capacity = 4, .batch_requests_max = 16});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const auto client = engine->open_client();
      const std::string key = "n" + std::to_string(t);
      std::int64_t expected = 0;
      for (int round = 0; round < 200; ++round) {
        std::vector<Request> requests;
        for (int i = 0; i < 50; ++i) requests.push_back(Request::of("INCR", key));
        for (const Reply& reply : client->pipeline(requests))
          ASSERT_EQ(reply, Reply::integer(++expected));
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_P(PolicyTest, PipelineOverManyKeysMatchesSingleCalls) {
  std::vector<std::vector<Reply>> replies;
  for (const std::size_t at_once : {std::size_t{1}, std::size_t{500}}) {
    const auto engine = open_engine({.policy = GetParam(), .seed = 1});
    const auto client = engine->open_client();
    std::vector<Request> fill;  // so many that the keys' memory is prefetched
    for (int i = 0; i < 20'000; ++i) fill.push_back(Request::of("SET", "k" + std::to_string(i), i));
    client->pipeline(fill);
    std::vector<Request> requests;
    std::mt19937_64 random(1);  // the same sequence both times
    const auto key = [&random] { return "k" + std::to_string(random() % 25'000); };
    for (int i = 0; i < 1'000; ++i) {
      requests.push_back(Request::of("INCR", key()));
      requests.push_back(Request::of("DEL", key(), key()));
      requests.push_back(Request::of("PING"));
      requests.emplace_back();
      requests.push_back(Request::of("RENAME", key(), key()));
      requests.push_back(Request::of("SELECT", i % 100 == 50 ? "1" : "0"));
      if (i == 500) requests.push_back(Request::of("FLUSHALL"));
    }
    std::vector<Reply>& replied = replies.emplace_back();
    for (std::size_t i = 0; i < requests.size(); i += at_once) {
      const auto some = std::span(requests).subspan(i, std::min(at_once, requests.size() - i));
      for (Reply& reply : client->pipeline(some)) replied.push_back(std::move(reply));
    }
  }
  EXPECT_EQ(replies[0], replies[1]);
}

TEST_P(PolicyTest, NativeScriptsAreAddedWhileOthersRun) {
  constexpr int kScripts = 200;
  const auto engine = open_engine({.policy = GetParam()});
  std::thread caller([&] {
    const auto client = engine->open_client();
    const std::string last = std::to_string(kScripts - 1);
    while (client->call(Request::of("FCALL", last, 0)).is_error()) {
    }
  });
  const auto client = engine->open_client();
  for (int number = 0; number < kScripts; ++number) {
    const NamedScript script{std::to_string(number),
                             [number](NativeCall&) { return Reply::integer(number); }};
    engine->add_native_scripts({&script, 1});
    EXPECT_EQ((*client)("FCALL", script.name, 0), Reply::integer(number));
  }
  caller.join();
}

TEST_P(PolicyTest, CompletionsRunInOrderOfSubmission) {
  const auto engine = open_engine({.policy = GetParam()});
  const auto client = engine->open_client();
  constexpr int kCount = 10'000;
  std::vector<std::int64_t> replies;
  std::latch done(kCount);
  for (int i = 0; i < kCount; ++i) {
    client->submit(Request::of("INCR", "n"), [&](Reply reply) {
      replies.push_back(reply.integer());
      done.count_down();
    });
  }
  done.wait();
  for (int i = 0; i < kCount; ++i) ASSERT_EQ(replies[static_cast<std::size_t>(i)], i + 1);
}

TEST_P(PolicyTest, BlockedReadIsServedByAnotherThread) {
  const auto engine = open_engine({.policy = GetParam()});
  const auto reader = engine->open_client();
  std::thread writer([&] {
    const auto client = engine->open_client();
    (*client)("XADD", "s", "1-1", "f", "v");
  });
  const Reply read = (*reader)("XREAD", "BLOCK", 0, "STREAMS", "s", "0");
  writer.join();
  EXPECT_EQ(to_debug_string(read), R"([["s", [["1-1", ["f", "v"]]]]])");
}

TEST_P(PolicyTest, EachElementIsPoppedByOneWaiter) {
  const auto engine = open_engine({.policy = GetParam(), .batch_requests_max = 3});
  constexpr int kConsumers = 4;
  constexpr int kElements = 4'000;
  std::vector<std::vector<std::string>> popped(kConsumers);
  std::vector<std::thread> consumers;
  for (std::vector<std::string>& own : popped) {
    consumers.emplace_back([&engine, &own] {
      const auto client = engine->open_client();
      while (true) {
        const Reply reply = (*client)("BLPOP", "l", 0);
        if (reply.elements()[1].text() == "end") return;
        own.push_back(reply.elements()[1].text());
      }
    });
  }
  const auto producer = engine->open_client();
  for (int i = 0; i < kElements; i += 2) (*producer)("RPUSH", "l", i, i + 1);
  for (int i = 0; i < kConsumers; ++i) (*producer)("RPUSH", "l", "end");
  for (std::thread& consumer : consumers) consumer.join();

  std::set<std::string> all;
  for (const std::vector<std::string>& own : popped) all.insert(own.begin(), own.end());
  EXPECT_EQ(all.size(), static_cast<std::size_t>(kElements));
  EXPECT_EQ(popped[0].size() + popped[1].size() + popped[2].size() + popped[3].size(), all.size());
  EXPECT_EQ((*producer)("EXISTS", "l"), Reply::integer(0));
}

TEST_P(PolicyTest, ServedPipelinesContinueInKeyOrder) {
  const auto engine = open_engine({.policy = GetParam()});
  std::vector<std::thread> threads;
  for (const char* list : {"a", "b"}) {
    threads.emplace_back([&engine, list] {
      const Request requests[] = {Request::of("RPUSH", "waiting", list),
                                  Request::of("BLPOP", list, 0),
                                  Request::of("RPUSH", "order", list)};
      engine->open_client()->pipeline(requests);
    });
  }
  const auto client = engine->open_client();
  // Pipelines of the same commit batch are blocked by the time of any of its replies.
  for (std::size_t i = 0; i < threads.size(); ++i) (*client)("BLPOP", "waiting", 0);
  (*client)("EVAL", "redis.call('RPUSH', 'b', 1) redis.call('RPUSH', 'a', 1)", 0);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(to_debug_string((*client)("LRANGE", "order", 0, -1)), R"(["b", "a"])");
}

TEST(ExecutorTest, BlockedReadTimesOut) {
  const auto engine = open_engine();
  EXPECT_EQ((*engine->open_client())("XREAD", "BLOCK", 5, "STREAMS", "s", "0").kind(),
            Reply::Kind::kNilArray);
}

TEST(ExecutorTest, FullQueueRepliesOverloadedIfConfigured) {
  Holder holder;
  const auto engine = open_engine({.queue_capacity = 2}, {holder.script()});
  std::thread busy([&] { engine->open_client()->call(holder.request()); });
  holder.entered.wait();

  const auto impatient = engine->open_client({.fail_when_full = true});
  std::atomic<int> overloaded = 0;
  std::latch replied(10);
  for (int i = 0; i < 10; ++i) {
    impatient->submit(Request::of("INCR", "n"), [&](Reply reply) {
      if (has_code(reply, error_code::kOverloaded)) ++overloaded;
      replied.count_down();
    });
  }
  holder.released.count_down();
  replied.wait();
  busy.join();
  EXPECT_EQ(overloaded, 8);
  EXPECT_EQ((*impatient)("GET", "n"), Reply::bulk("2"));
}

TEST(ExecutorTest, WaiterForQueueSpaceIsServed) {
  Holder holder;
  const auto engine = open_engine({.queue_capacity = 1}, {holder.script()});
  std::thread busy([&] { engine->open_client()->call(holder.request()); });
  holder.entered.wait();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back([&] { (*engine->open_client())("INCR", "n"); });
  holder.released.count_down();
  for (auto& thread : threads) thread.join();
  busy.join();
  EXPECT_EQ((*engine->open_client())("GET", "n"), Reply::bulk("4"));
}

TEST(ExecutorTest, LateRequestIsNotRun) {
  Holder holder;
  const auto engine = open_engine({}, {holder.script()});
  std::thread busy([&] { engine->open_client()->call(holder.request()); });
  holder.entered.wait();
  const auto client = engine->open_client({.queue_timeout_ms = 1});
  EXPECT_TRUE(has_code((*client)("SET", "k", "v"), error_code::kTimedOut));
  holder.released.count_down();
  busy.join();
  EXPECT_EQ((*engine->open_client())("EXISTS", "k"), Reply::integer(0));
}

TEST(ExecutorTest, TimedOutQueueWaiterIsNotRun) {
  Holder holder;
  const auto engine = open_engine({.queue_capacity = 1}, {holder.script()});
  std::thread busy([&] { engine->open_client()->call(holder.request()); });
  holder.entered.wait();
  const auto client = engine->open_client();
  std::latch replied(2);
  client->submit(Request::of("INCR", "n"), [&](Reply) { replied.count_down(); });  // fills the
                                                                                   // queue

  const auto hurried = engine->open_client({.queue_timeout_ms = 1});
  EXPECT_TRUE(has_code((*hurried)("INCR", "n"), error_code::kTimedOut));
  Reply submitted;
  hurried->submit(Request::of("INCR", "n"), [&](Reply reply) {
    submitted = std::move(reply);
    replied.count_down();
  });
  holder.released.count_down();
  replied.wait();
  busy.join();
  EXPECT_TRUE(has_code(submitted, error_code::kTimedOut)) << to_debug_string(submitted);
  EXPECT_EQ((*client)("GET", "n"), Reply::bulk("1"));
}

TEST(ExecutorTest, ClientInsideTurnIsErrorNotDeadlock) {
  std::unique_ptr<Client> inner;
  Reply seen;
  const auto engine = open_engine({}, {{"reenter", [&](NativeCall&) {
                                          seen = (*inner)("PING");
                                          return Reply::ok();
                                        }}});
  inner = engine->open_client();
  EXPECT_EQ((*engine->open_client())("FCALL", "reenter", 0), Reply::ok());
  EXPECT_TRUE(has_code(seen, error_code::kReentrant)) << to_debug_string(seen);
}

TEST(ExecutorTest, CloseEndsBlockedAndLaterRequests) {
  const auto engine = open_engine();
  const auto client = engine->open_client();
  std::latch replied(1);
  Reply blocked;
  client->submit(Request::of("XREAD", "BLOCK", 0, "STREAMS", "s", "0"), [&](Reply reply) {
    blocked = std::move(reply);
    replied.count_down();
  });
  EXPECT_EQ((*client)("PING"), Reply::status("PONG"));
  engine->close();
  replied.wait();
  EXPECT_TRUE(has_code(blocked, error_code::kClosed)) << to_debug_string(blocked);
  EXPECT_TRUE(has_code((*client)("PING"), error_code::kClosed));
}

TEST(ExecutorTest, ClientMayOutliveItsEngine) {
  auto engine = open_engine();
  const auto client = engine->open_client();
  engine.reset();
  EXPECT_TRUE(has_code((*client)("PING"), error_code::kClosed));
  EXPECT_TRUE(client->sync().is_error());
}

TEST(ExecutorTest, ClosedEngineRepliesToSubmissions) {
  const auto engine = open_engine();
  const auto client = engine->open_client();
  engine->close();
  Reply received;
  client->submit(Request::of("PING"), [&](Reply reply) { received = std::move(reply); });
  EXPECT_TRUE(has_code(received, error_code::kClosed)) << to_debug_string(received);
}

TEST(ExecutorTest, CloseEndsConcurrentCalls) {
  for (int round = 0; round < 50; ++round) {
    const auto engine = open_engine({.queue_capacity = 8});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, client = engine->open_client()] {
        while (!has_code((*client)("INCR", "n"), error_code::kClosed)) {
        }
      });
    }
    engine->close();
    for (auto& thread : threads) thread.join();
  }
}

TEST(ExecutorTest, CloseEndsCallsThatWaitForQueue) {
  for (int round = 0; round < 30; ++round) {
    Holder holder;
    const auto engine = open_engine({.queue_capacity = 1}, {holder.script()});
    std::thread busy([&] { engine->open_client()->call(Holder::request()); });
    holder.entered.wait();
    std::vector<std::thread> threads;
    std::latch begun(4);
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, client = engine->open_client()] {
        begun.count_down();
        const Reply reply = (*client)("INCR", "n");
        EXPECT_TRUE(reply.is_integer() || has_code(reply, error_code::kClosed));
      });
    }
    begun.wait();
    std::thread closer([&] { engine->close(); });
    holder.released.count_down();
    closer.join();
    busy.join();
    for (auto& thread : threads) thread.join();
  }
}

TEST_P(PolicyTest, RequestRunsExactlyIfNotTimedOut) {
  // Deadlines pass at any moment: waiting for queue space, queued, or starting.
  const auto engine =
      open_engine({.policy = GetParam(), .queue_capacity = 2, .batch_requests_max = 2});
  std::atomic<std::int64_t> ran = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      const auto client = engine->open_client({.queue_timeout_ms = 1});
      for (int i = 0; i < 1'000; ++i) {
        const Reply reply = (*client)("INCR", "n");
        if (reply.is_integer()) {
          ++ran;
        } else {
          EXPECT_TRUE(has_code(reply, error_code::kTimedOut)) << to_debug_string(reply);
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ((*engine->open_client())("INCRBY", "n", 0), Reply::integer(ran));
}

/// Runs a script on the service thread, and meanwhile sends PINGs until one gets BUSY. A PING in
/// the same commit batch as the script gets its reply only after the script has ended.
class LongScript {
 public:
  LongScript(Engine& engine, const char* text)
      : engine_(engine), script_([this, text] {
          reply_ = (*engine_.open_client())("EVAL", text, 1, "k");
          ended_ = true;
        }) {}
  ~LongScript() {
    script_.join();
    for (auto& ping : pings_) ping.join();
  }

  /// Returns false if the script ended before any client got BUSY.
  bool wait_until_busy() {
    while (!busy_ && !ended_) {
      pings_.emplace_back([this] {
        if (has_code((*engine_.open_client())("PING"), "BUSY")) busy_ = true;
      });
      std::this_thread::yield();
    }
    return busy_;
  }

 private:
  Engine& engine_;
  std::atomic<bool> busy_ = false;
  std::atomic<bool> ended_ = false;
  Reply reply_;
  std::vector<std::thread> pings_;
  std::thread script_;
};

constexpr auto kOnServiceThread = EngineOptions::Policy::kServiceThreadOnly;

TEST(ExecutorTest, LongScriptRepliesBusyAndIsKillable) {
  const auto engine = open_engine({.policy = kOnServiceThread, .script_busy_after_ms = 1});
  const auto client = engine->open_client();
  {
    LongScript runaway(*engine, "while true do end");
    EXPECT_TRUE(runaway.wait_until_busy());
    EXPECT_EQ((*client)("SCRIPT", "KILL"), Reply::ok());
  }
  EXPECT_EQ((*client)("PING"), Reply::status("PONG"));
}

TEST(ExecutorTest, TransactionContinuesDuringLongScript) {
  const auto engine = open_engine({.policy = kOnServiceThread, .script_busy_after_ms = 1});
  const auto client = engine->open_client();
  EXPECT_EQ((*client)("MULTI"), Reply::ok());
  {
    LongScript runaway(*engine, "while true do end");
    EXPECT_TRUE(runaway.wait_until_busy());
    EXPECT_EQ((*client)("UNWATCH"), Reply::status("QUEUED"));
    EXPECT_EQ((*client)("GET", "k").error_code(), "BUSY");
    const Reply refused = (*client)("EXEC");
    EXPECT_THAT(refused.text(),
                ::testing::StartsWith("EXECABORT Transaction discarded because of: BUSY Redis is"));
    EXPECT_EQ((*client)("SCRIPT", "KILL"), Reply::ok());
  }
  EXPECT_EQ((*client)("EXEC"), Reply::error("ERR EXEC without MULTI"));
}

TEST(ExecutorTest, ScriptThatHasWrittenCannotBeKilled) {
  const auto engine = open_engine({.policy = kOnServiceThread, .script_busy_after_ms = 1});
  const auto client = engine->open_client();
  {
    LongScript writer(*engine, "redis.call('SET', KEYS[1], 'v') for i = 1, 100000000 do end");
    if (writer.wait_until_busy()) {
      const Reply kill = (*client)("SCRIPT", "KILL");
      EXPECT_THAT(kill.error_code(), ::testing::AnyOf("UNKILLABLE", "NOTBUSY"))
          << "NOTBUSY: the script has just ended";
    }
  }
  EXPECT_EQ((*client)("GET", "k"), Reply::bulk("v"));
}

TEST(ExecutorTest, WritingScriptIsKillableWithRollback) {
  const auto engine = open_engine(
      {.policy = kOnServiceThread, .script_busy_after_ms = 1, .roll_back_failed_scripts = true});
  const auto client = engine->open_client();
  {
    LongScript writer(*engine, "redis.call('SET', KEYS[1], 'v') while true do end");
    EXPECT_TRUE(writer.wait_until_busy());
    EXPECT_EQ((*client)("SCRIPT", "KILL"), Reply::ok());
  }
  EXPECT_EQ((*client)("EXISTS", "k"), Reply::integer(0));
}

/// Submits a script and returns its future reply.
std::future<Reply> submit_script(Client& client, const char* script) {
  auto reply = std::make_shared<std::promise<Reply>>();
  client.submit(Request::of("EVAL", script, 0),
                [reply](Reply given) { reply->set_value(std::move(given)); });
  return reply->get_future();
}

void wait_until_script_runs(const Engine& engine) {
  while (!engine.is_running_script()) std::this_thread::yield();
}

TEST(ExecutorTest, CloseKillsScripts) {
  for (const std::int64_t busy_after_ms : {0, 5'000}) {
    const auto engine = open_engine({.script_busy_after_ms = busy_after_ms});
    const auto client = engine->open_client();
    auto running = submit_script(*client, "while true do end");
    auto queued = submit_script(*client, "while true do redis.call('PING') end");
    auto short_one = submit_script(*client, "return 1");
    wait_until_script_runs(*engine);
    engine->close(EndOfScripts::kKill);
    EXPECT_THAT(running.get().text(), ::testing::StartsWith("ERR Script killed by user"));
    EXPECT_THAT(queued.get().text(), ::testing::StartsWith("ERR Script killed by user"));
    EXPECT_EQ(short_one.get(), Reply::integer(1));
    EXPECT_FALSE(engine->is_running_script());
  }
}

TEST(ExecutorTest, SecondCloseKillsAwaitedScript) {
  const auto engine = open_engine();
  const auto client = engine->open_client();
  auto reply = submit_script(*client, "while true do end");
  wait_until_script_runs(*engine);
  std::thread first([&] { engine->close(); });
  // Only a closed engine replies CLOSED while the script runs.
  while ((*engine->open_client({.fail_when_full = true, .queue_timeout_ms = 1}))("PING")
             .error_code() != "CLOSED") {
  }
  engine->close(EndOfScripts::kKill);
  first.join();
  EXPECT_THAT(reply.get().text(), ::testing::StartsWith("ERR Script killed by user"));
}

TEST(ExecutorTest, TimersOnServiceThreadMayUseClient) {
  const auto engine = open_engine();
  const auto client = engine->open_client();
  std::latch ran(1);
  engine->scheduler().at(engine->clock().monotonic_ms() + 2, [&] {
    (*client)("SET", "k", "v");
    ran.count_down();
  });
  ran.wait();
  EXPECT_EQ((*client)("GET", "k"), Reply::bulk("v"));
}

TEST(ExecutorTest, KeysExpireWithoutAccess) {
  using faults::FaultyStore;
  auto store = std::make_unique<FaultyStore>(std::make_unique<MemoryStore>());
  int commits = 0;
  std::promise<void> removed;
  store->at_every_point([&](FaultyStore::Point point) {
    if (point == FaultyStore::Point::kAfterCommit && ++commits == 2) removed.set_value();
  });
  const auto engine = open_engine({}, {}, std::move(store));
  const auto client = engine->open_client();
  (*client)("SET", "k", "v", "PX", 1);
  EXPECT_EQ(removed.get_future().wait_for(std::chrono::minutes(1)), std::future_status::ready)
      << "without requests, the removal has its own commit";
}

TEST(ExecutorOpenTest, InvalidArgumentsAreNamed) {
  EXPECT_EQ(Engine::open(nullptr).status(), absl::InvalidArgumentError("an engine needs a store"));
  const auto twice = Engine::open(std::make_unique<MemoryStore>(), {}, {{"buy", {}}, {"buy", {}}});
  EXPECT_EQ(twice.status(), absl::InvalidArgumentError("two native scripts are called 'buy'"));
}

}  // namespace
}  // namespace rushgate
