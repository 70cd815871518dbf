// Completions and timers that use a client themselves. The thread that waits for the reply is the
// one that would run the request.
#include <atomic>
#include <functional>
#include <latch>
#include <thread>

#include "tests/unit/executor/engine_fixture.h"
#include "tests/unit/executor/holder.h"
#include <rushgate/engine.h>

namespace rushgate {
namespace {

class CallbackTest : public ::testing::TestWithParam<EngineOptions::Policy> {
 protected:
  void open(EngineOptions options = {}, std::vector<NamedScript> scripts = {}) {
    options.policy = GetParam();
    engine_ = open_engine(std::move(options), std::move(scripts));
    client_ = engine_->open_client();
  }

  /// Runs `callback` as a completion and waits for its end.
  void run_in_completion(std::function<void()> callback) {
    std::latch ended(1);
    client_->submit(Request::of("PING"), [&](Reply) {
      callback();
      ended.count_down();
    });
    ended.wait();
  }

  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Client> client_;
};

INSTANTIATE_TEST_SUITE_P(Policies, CallbackTest,
                         ::testing::Values(EngineOptions::Policy::kCallers,
                                           EngineOptions::Policy::kServiceThreadOnly));

TEST_P(CallbackTest, CompletionMayCall) {
  open();
  run_in_completion([&] {
    EXPECT_EQ((*client_)("SET", "k", "v"), Reply::ok());
    EXPECT_EQ((*client_)("GET", "k"), Reply::bulk("v"));
  });
}

TEST_P(CallbackTest, TimerMayCall) {
  open();
  std::latch ended(1);
  engine_->scheduler().at(engine_->clock().monotonic_ms(), [&] {
    EXPECT_EQ((*client_)("INCR", "n"), Reply::integer(1));
    ended.count_down();
  });
  ended.wait();
}

TEST_P(CallbackTest, CompletionMayCallWithDeadline) {
  open();
  const auto hurried = engine_->open_client({.queue_timeout_ms = 3'600'000});
  run_in_completion([&] { EXPECT_EQ((*hurried)("INCR", "n"), Reply::integer(1)); });
}

TEST_P(CallbackTest, CompletionMayPipelineMoreThanBatch) {
  open({.batch_requests_max = 4});
  run_in_completion([&] {
    std::vector<Request> requests;
    for (int i = 0; i < 500; ++i) requests.push_back(Request::of("INCR", "n"));
    const auto replies = client_->pipeline(requests);
    ASSERT_EQ(replies.size(), 500U);
    EXPECT_EQ(replies.back(), Reply::integer(500));
  });
}

TEST_P(CallbackTest, CompletionMaySubmitMoreThanQueue) {
  open({.queue_capacity = 2, .batch_requests_max = 2});
  constexpr int kCount = 500;
  std::latch replied(kCount);
  std::vector<std::int64_t> replies;
  run_in_completion([&] {
    for (int i = 0; i < kCount; ++i) {
      client_->submit(Request::of("INCR", "n"), [&](Reply reply) {
        replies.push_back(reply.integer());
        replied.count_down();
      });
    }
    EXPECT_EQ((*client_)("GET", "n"), Reply::bulk(std::to_string(kCount)));
    EXPECT_TRUE(replies.empty()) << "a completion ran inside another one";
  });
  replied.wait();
  for (int i = 0; i < kCount; ++i) ASSERT_EQ(replies[static_cast<std::size_t>(i)], i + 1);
}

TEST_P(CallbackTest, BlockingReadInCompletionIsServedByThread) {
  open();
  std::thread writer;
  Reply read;
  run_in_completion([&] {
    writer = std::thread([&] { (*engine_->open_client())("XADD", "s", "1-1", "f", "v"); });
    read = (*client_)("XREAD", "BLOCK", 0, "STREAMS", "s", "0");
  });
  writer.join();
  EXPECT_EQ(to_debug_string(read), R"([["s", [["1-1", ["f", "v"]]]]])");
}

TEST_P(CallbackTest, EarlierRequestServesBlockingReadInCompletion) {
  open();
  run_in_completion([&] {
    client_->submit(Request::of("XADD", "s", "1-1", "f", "v"), [](Reply) {});
    const Reply read = (*client_)("XREAD", "BLOCK", 0, "STREAMS", "s", "0");
    EXPECT_EQ(to_debug_string(read), R"([["s", [["1-1", ["f", "v"]]]]])");
  });
}

TEST_P(CallbackTest, BlockingReadInCompletionTimesOut) {
  open();
  run_in_completion([&] {
    EXPECT_EQ((*client_)("XREAD", "BLOCK", 5, "STREAMS", "s", "0").kind(), Reply::Kind::kNilArray);
  });
}

TEST_P(CallbackTest, OthersAreServedWhileCompletionWaits) {
  open();
  std::thread other;
  run_in_completion([&] {
    other = std::thread([&] {
      const auto client = engine_->open_client();
      for (int i = 0; i < 100; ++i) EXPECT_EQ((*client)("INCR", "n"), Reply::integer(i + 1));
      (*client)("SET", "short", "v", "PX", 1);
      EXPECT_TRUE((*client)("XREAD", "BLOCK", 5, "STREAMS", "none", "$").is_nil());
      while ((*client)("EXISTS", "short") != Reply::integer(0)) {
      }
      (*client)("XADD", "s", "1-1", "f", "v");
    });
    EXPECT_TRUE((*client_)("XREAD", "BLOCK", 0, "STREAMS", "s", "0").is_aggregate());
  });
  other.join();
}

TEST_P(CallbackTest, CloseEndsBlockingReadInCompletion) {
  open();
  std::latch inside(1);
  std::latch ended(1);
  Reply read;
  client_->submit(Request::of("PING"), [&](Reply) {
    inside.count_down();
    read = (*client_)("XREAD", "BLOCK", 0, "STREAMS", "s", "0");
    ended.count_down();
  });
  inside.wait();
  engine_->close();
  ended.wait();
  EXPECT_TRUE(has_code(read, error_code::kClosed)) << to_debug_string(read);
}

// A caller holds the turn while the service thread runs a completion.
class BusyCallerTest : public ::testing::Test {
 protected:
  /// Runs `callback` as a completion, after a caller has entered the script of the holder.
  void run_while_held(std::function<void()> callback) {
    std::latch inside(1);
    std::latch go(1);
    std::latch ended(1);
    client_->submit(Request::of("PING"), [&](Reply) {
      inside.count_down();
      go.wait();
      callback();
      ended.count_down();
    });
    inside.wait();
    std::thread busy([&] { engine_->open_client()->call(Holder::request()); });
    holder_.entered.wait();
    go.count_down();
    ended.wait();
    busy.join();
  }

  Holder holder_;
  std::unique_ptr<Engine> engine_ =
      open_engine({.queue_capacity = 256, .batch_requests_max = 1}, {holder_.script()});
  std::unique_ptr<Client> client_ = engine_->open_client();
};

TEST_F(BusyCallerTest, LeftoverWorkRunsDespiteWaitingCompletion) {
  constexpr int kMoreThanACallerDoes = 200;
  std::latch replied(kMoreThanACallerDoes);
  run_while_held([&] {
    for (int i = 0; i < kMoreThanACallerDoes; ++i)
      client_->submit(Request::of("INCR", "n"), [&](Reply) { replied.count_down(); });
    holder_.released.count_down();
    EXPECT_EQ((*client_)("GET", "n"), Reply::bulk(std::to_string(kMoreThanACallerDoes)));
  });
  replied.wait();
}

TEST_F(BusyCallerTest, LateCallInCompletionIsNotRun) {
  const auto hurried = engine_->open_client({.queue_timeout_ms = 1});
  run_while_held([&] {
    EXPECT_TRUE(has_code((*hurried)("SET", "k", "v"), error_code::kTimedOut));
    holder_.released.count_down();
  });
  EXPECT_EQ((*client_)("EXISTS", "k"), Reply::integer(0));
}

TEST_F(BusyCallerTest, CompletionThatWaitsForQueueSpaceGetsIt) {
  constexpr int kMoreThanTheQueueHolds = 1'000;
  std::latch replied(kMoreThanTheQueueHolds);
  run_while_held([&] {
    for (int i = 0; i < kMoreThanTheQueueHolds; ++i) {
      if (i == 200) holder_.released.count_down();
      client_->submit(Request::of("INCR", "n"), [&](Reply) { replied.count_down(); });
    }
  });
  replied.wait();
  EXPECT_EQ((*client_)("GET", "n"), Reply::bulk(std::to_string(kMoreThanTheQueueHolds)));
}

// ---- Many calls at once ----

TEST_P(CallbackTest, CallsInCompletionsAndThreadsLoseNothing) {
  open({.queue_capacity = 16, .batch_requests_max = 4});
  constexpr int kThreads = 4;
  constexpr int kEach = 500;
  std::latch replied(kThreads * kEach);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      const auto client = engine_->open_client();
      for (int i = 0; i < kEach; ++i) {
        client->submit(Request::of("INCR", "n"), [&](Reply) {
          (*client_)("INCR", "n");
          replied.count_down();
        });
        (*client)("INCR", "n");
      }
      replied.wait();
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ((*client_)("GET", "n"), Reply::bulk(std::to_string(3 * kThreads * kEach)));
}

TEST_P(CallbackTest, CloseRepliesToEachCallInCompletions) {
  for (int round = 0; round < 50; ++round) {
    open({.queue_capacity = 4, .batch_requests_max = 2});
    constexpr int kCount = 40;
    std::latch replied(kCount);
    std::latch begun(1);
    std::thread submitter([&] {
      for (int i = 0; i < kCount; ++i) {
        client_->submit(Request::of("INCR", "n"), [&](Reply) {
          const Reply inner = (*client_)("INCR", "n");
          EXPECT_TRUE(inner.is_integer() || has_code(inner, error_code::kClosed));
          replied.count_down();
        });
        if (i == kCount / 2) begun.count_down();
      }
    });
    begun.wait();
    engine_->close();
    submitter.join();
    replied.wait();
  }
}

}  // namespace
}  // namespace rushgate
