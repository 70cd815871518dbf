// Measures a caller's work for other clients in commits. The store moves the clock.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/redis/executor/embedded_client.h"
#include "engine/redis/executor/executor.h"
#include "tests/support/null_store.h"
#include "tests/unit/executor/holder.h"

namespace rushgate {
namespace {

/// Advances its µs with each commit of the store. Other times are those of the system.
class CommitClock final : public Clock {
 public:
  explicit CommitClock(const std::atomic<std::int64_t>& us) : us_(us) {}
  [[nodiscard]] std::int64_t now_ms() const override { return system_.now_ms(); }
  [[nodiscard]] std::int64_t monotonic_ms() const override { return system_.monotonic_ms(); }
  [[nodiscard]] std::int64_t monotonic_us() const override { return us_; }

 private:
  const SystemClock system_;
  const std::atomic<std::int64_t>& us_;
};

/// Records the threads that commit. Outlives the engine's store.
struct Commits {
  static constexpr std::int64_t kUsEach = 40;

  std::atomic<std::int64_t> us{0};
  std::mutex mutex;
  std::vector<std::thread::id> threads;

  std::size_t of(std::thread::id thread) {
    const std::lock_guard lock(mutex);
    return static_cast<std::size_t>(std::ranges::count(threads, thread));
  }
};

class CountingStore final : public NullStore {
 public:
  CountingStore(Commits& commits, Durability durability)
      : commits_(commits), durability_(durability) {}
  absl::Status commit(const StoreBatch& batch) override {
    if (batch.empty()) return absl::OkStatus();
    commits_.us += Commits::kUsEach;
    const std::lock_guard lock(commits_.mutex);
    commits_.threads.push_back(std::this_thread::get_id());
    return absl::OkStatus();
  }
  [[nodiscard]] Durability durability() const override { return durability_; }

 private:
  Commits& commits_;
  const Durability durability_;
};

/// Runs one request per commit, if no other number is given.
class TurnShareTest : public ::testing::Test {
 protected:
  std::shared_ptr<Executor> open(Durability durability, std::vector<NamedScript> scripts = {},
                                 std::size_t requests_a_commit = 1) {
    auto executor =
        std::make_shared<Executor>(std::make_unique<CountingStore>(commits_, durability),
                                   EngineOptions{.batch_requests_max = requests_a_commit},
                                   std::make_unique<CommitClock>(commits_.us));
    EXPECT_TRUE(executor->start(std::move(scripts)).ok());
    return executor;
  }

  /// Returns the number of commits by a caller, its own included, while `queued` others are queued.
  std::size_t commits_of_caller(Durability durability, int queued) {
    std::latch entered(1);
    std::latch released(1);
    const auto executor = open(durability, {{"hold", [&](NativeCall& call) {
                                               entered.count_down();
                                               released.wait();
                                               call.increment_by("n", 1);
                                               return Reply::ok();
                                             }}});
    EmbeddedClient others(executor, {});
    EmbeddedClient own(executor, {});
    std::latch replied(queued);
    std::size_t commits = 0;
    std::thread caller([&] {
      EXPECT_EQ(own("FCALL", "hold", 0), Reply::ok());
      commits = commits_.of(std::this_thread::get_id());
    });
    entered.wait();
    for (int i = 0; i < queued; ++i) {
      others.submit(Request::of("INCR", "n"), [&](Reply) { replied.count_down(); });
    }
    released.count_down();
    caller.join();
    replied.wait();
    EXPECT_EQ(others("GET", "n"), Reply::bulk(std::to_string(queued + 1)));
    executor->close();
    return commits;
  }

  Commits commits_;
};

TEST_F(TurnShareTest, CallerMakesOneForeignFsync) {
  EXPECT_EQ(commits_of_caller(Durability::kSync, 20), 2U);
}

TEST_F(TurnShareTest, CallerStopsAfterItsTimeShare) {
  constexpr std::size_t kForOthers = TurnShare::kForOthersUs / Commits::kUsEach + 1;
  EXPECT_EQ(commits_of_caller(Durability::kOs, 20), 1 + kForOthers);
}

TEST_F(TurnShareTest, CallersTimeShareEndsBatch) {
  constexpr std::int64_t kUsEach = 40;
  constexpr int kQueued = 20;
  constexpr int kEach = 2;  // requests of each queued operation
  std::latch entered(1);
  std::latch released(1);
  std::mutex mutex;
  std::vector<std::thread::id> ran_by;
  const auto hold = [&](NativeCall&) {
    entered.count_down();
    released.wait();
    return Reply::ok();
  };
  const auto work = [&](NativeCall&) {
    commits_.us += kUsEach;
    const std::lock_guard lock(mutex);
    ran_by.push_back(std::this_thread::get_id());
    return Reply::ok();
  };
  const auto executor =
      open(Durability::kOs, {{"hold", hold}, {"work", work}}, EngineOptions().batch_requests_max);
  const auto session = std::make_shared<Session>();
  executor->begin_session(session);
  std::latch replied(kQueued);
  EmbeddedClient own(executor, {});
  std::thread::id caller_id;
  std::thread caller([&] {
    caller_id = std::this_thread::get_id();
    EXPECT_EQ(own("FCALL", "hold", 0), Reply::ok());
  });
  entered.wait();
  for (int i = 0; i < kQueued; ++i) {
    auto operation = std::make_unique<Operation>();
    operation->session = session.get();
    operation->owned_session = session;
    for (int n = 0; n < kEach; ++n) {
      operation->owned_requests.push_back(Request::of("FCALL", "work", 0));
    }
    operation->requests = operation->owned_requests;
    operation->completion = [&](const Operation::Replies&, int) { replied.count_down(); };
    executor->post(std::move(operation), false);
  }
  released.count_down();
  caller.join();
  replied.wait();
  EXPECT_EQ(std::ssize(ran_by), kQueued * kEach);
  EXPECT_EQ(std::ranges::count(ran_by, caller_id), TurnShare::kForOthersUs / kUsEach + 1)
      << "the last one ends in the middle of an operation";
  executor->end_session(Executor::make_session_end(session));
  executor->close();
}

TEST_F(TurnShareTest, WaitingCallersGetTurn) {
  const auto executor = open(Durability::kSync);
  constexpr int kThreads = 4;
  constexpr int kEach = 2'000;
  std::vector<std::unique_ptr<EmbeddedClient>> clients;
  for (int t = 0; t < kThreads; ++t) {
    clients.push_back(std::make_unique<EmbeddedClient>(executor, ClientOptions{}));
    (*clients.back())("PING");
  }
  std::vector<std::thread> threads;
  std::vector<std::size_t> commits(kThreads);
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) (*clients[t])("INCR", "n");
      commits[t] = commits_.of(std::this_thread::get_id());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::size_t of_callers = 0;
  for (const std::size_t count : commits) of_callers += count;
  // The service thread works only at the start.
  EXPECT_GE(of_callers, std::size_t{kThreads} * kEach - TurnShare::kServiceBatches);
  executor->close();
}

TEST_F(TurnShareTest, DeadlinesPassWhileTurnIsHandedOver) {
  const auto executor = open(Durability::kSync);
  std::atomic<std::int64_t> ran = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      EmbeddedClient client(executor, {.queue_timeout_ms = 1});
      for (int i = 0; i < 1'000; ++i) {
        if (client("INCR", "n").is_integer()) ++ran;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EmbeddedClient client(executor, {});
  EXPECT_EQ(client("INCRBY", "n", 0), Reply::integer(ran));
  executor->close();
}

}  // namespace
}  // namespace rushgate
