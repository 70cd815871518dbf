#include <atomic>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/recipes/locks/lock_fixture.h"
#include <rushgate/locks.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

using faults::FaultyBackend;
using Fault = FaultyBackend::Fault;

constexpr char kHeld[] = "{gate}:timeout";
constexpr char kSemaphoreChannel[] = "redisson_sc:{gate}";

class SemaphoreTest : public RecipeTest {
 protected:
  struct Pending {
    std::shared_ptr<std::promise<absl::StatusOr<Semaphore::Permit>>> promise =
        std::make_shared<std::promise<absl::StatusOr<Semaphore::Permit>>>();
    std::shared_future<absl::StatusOr<Semaphore::Permit>> future = promise->get_future().share();

    [[nodiscard]] bool is_done() const {
      return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    }
  };
  static Pending begin_wait(Semaphore semaphore, std::int64_t wait_ms = Semaphore::kForever) {
    Pending pending;
    semaphore.acquire_async(wait_ms, Semaphore::kNoLease,
                            [promise = pending.promise](absl::StatusOr<Semaphore::Permit> permit) {
                              promise->set_value(std::move(permit));
                            });
    return pending;
  }

  LockManager manager_{*backend_};
  LockManager other_manager_{*backend_};
  Semaphore gate_{manager_, "gate"};
  Semaphore other_{other_manager_, "gate"};
};
INSTANTIATE_TEST_SUITE_P(Backends, SemaphoreTest, all_recipe_kinds(), recipe_name);

class SemaphoreInManualTimeTest : public SemaphoreTest {};
INSTANTIATE_TEST_SUITE_P(Backends, SemaphoreInManualTimeTest, manual_time_recipe_kinds(),
                         recipe_name);

TEST_P(SemaphoreTest, PermitsAreBounded) {
  EXPECT_EQ(*gate_.acquire(0), std::nullopt) << "never set";
  EXPECT_TRUE(*gate_.try_set_permits(2));
  EXPECT_FALSE(*other_.try_set_permits(9));
  const auto first = *gate_.acquire(0);
  const auto second = *other_.acquire(0);
  ASSERT_TRUE(first && second);
  EXPECT_NE(*first, *second);
  EXPECT_EQ(*gate_.acquire(0), std::nullopt);
  EXPECT_EQ(*gate_.available(), 0);
  EXPECT_EQ((*client_)("ZCARD", kHeld), Reply::integer(2));
  EXPECT_EQ((*client_)("GET", "gate"), Reply::bulk("0"));
  EXPECT_TRUE(other_.release(*first).ok()) << "by its id, in any process";
  EXPECT_EQ(*gate_.available(), 1);
}

/// The classic way is a counter. A repeated release raises it above the number of permits.
TEST_P(SemaphoreTest, PermitIsReleasedOnce) {
  ASSERT_TRUE(*gate_.try_set_permits(1));
  const std::string permit = **gate_.acquire(0);
  EXPECT_TRUE(gate_.release(permit).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(gate_.release(permit)));
  EXPECT_EQ(*gate_.available(), 1);
  EXPECT_EQ((*client_)("INCR", "gate"), Reply::integer(2)) << "the wrong way";
}

/// Redisson 3.13 keeps the digits of the id.
TEST_P(SemaphoreTest, PermitOfOlderRedissonIsReleased) {
  const std::string permit = "00112233445566778899aabbccddeeff";
  (*client_)("SET", "gate", 0);
  (*client_)("ZADD", kHeld, "922337203685477", permit);
  EXPECT_TRUE(gate_.release(permit).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(gate_.release(permit)));
  EXPECT_EQ(*gate_.available(), 1);
}

TEST_P(SemaphoreTest, WaiterIsWokenByRelease) {
  ASSERT_TRUE(*gate_.try_set_permits(1));
  const std::string permit = **gate_.acquire(0);
  const Pending waiter = begin_wait(other_);
  while ((*client_)("PUBSUB", "NUMSUB", kSemaphoreChannel).elements()[1] != Reply::integer(1)) {
  }
  EXPECT_FALSE(waiter.is_done());
  ASSERT_TRUE(gate_.release(permit).ok());
  const auto given = waiter.future.get();
  ASSERT_TRUE(given.ok() && *given);
  EXPECT_TRUE(other_.release(**given).ok());
}

TEST_P(SemaphoreTest, EachPermitWakesOneWaiter) {
  std::vector<Pending> waiters;
  for (int i = 0; i < 3; ++i) waiters.push_back(begin_wait(other_));
  while ((*client_)("PUBSUB", "NUMSUB", kSemaphoreChannel).elements()[1] != Reply::integer(1)) {
  }
  ASSERT_TRUE(*gate_.try_set_permits(3));
  std::set<std::string> permits;
  for (const Pending& waiter : waiters) permits.insert(**waiter.future.get());
  EXPECT_EQ(permits.size(), 3U);
}

/// The classic way is a counter. A dead holder keeps its permit forever.
TEST_P(SemaphoreInManualTimeTest, PermitOfDeadHolderBecomesFree) {
  (*client_)("SET", "naive", 1);
  (*client_)("DECR", "naive");
  ASSERT_TRUE(*gate_.try_set_permits(1));
  const std::string permit = **gate_.acquire(0, 5'000);
  const Pending waiter = begin_wait(other_);
  advance_ms(4'999);
  EXPECT_FALSE(waiter.is_done());
  advance_ms(1);
  ASSERT_TRUE(waiter.is_done());
  EXPECT_TRUE(waiter.future.get()->has_value());
  EXPECT_TRUE(absl::IsFailedPrecondition(gate_.release(permit)));
  EXPECT_EQ(*gate_.available(), 0);
  EXPECT_EQ((*client_)("GET", "naive"), Reply::bulk("0")) << "the wrong way";
}

TEST_P(SemaphoreInManualTimeTest, WaitEndsAtItsDeadline) {
  ASSERT_TRUE(*gate_.try_set_permits(0));
  const Pending waiter = begin_wait(other_, 2'000);
  advance_ms(2'000);
  ASSERT_TRUE(waiter.is_done());
  EXPECT_EQ(*waiter.future.get(), std::nullopt);
}

TEST_P(SemaphoreTest, SeveralPermitsAreTakenAllOrNone) {
  ASSERT_TRUE(*gate_.try_set_permits(5));
  const auto three = *gate_.acquire_many(3, 0);
  EXPECT_EQ(std::set<std::string>(three.begin(), three.end()).size(), 3U);
  EXPECT_EQ((*client_)("GET", "gate"), Reply::bulk("2"));
  EXPECT_EQ((*client_)("ZCARD", kHeld), Reply::integer(3));
  EXPECT_TRUE(other_.acquire_many(3, 0)->empty());
  EXPECT_EQ(*other_.available(), 2);
  EXPECT_EQ(other_.acquire_many(2, 0)->size(), 2U);
  EXPECT_TRUE(other_.release(three[1]).ok()) << "each has its own id";
  EXPECT_EQ(*gate_.available(), 1);
}

TEST_P(SemaphoreTest, SeveralPermitsAreReleasedTogether) {
  ASSERT_TRUE(*gate_.try_set_permits(3));
  const auto three = *gate_.acquire_many(3, 0);
  const Pending waiter = begin_wait(other_);
  while ((*client_)("PUBSUB", "NUMSUB", kSemaphoreChannel).elements()[1] != Reply::integer(1)) {
  }
  ASSERT_TRUE(gate_.release_many(three).ok());
  EXPECT_TRUE(**waiter.future.get() != three[0]);
  EXPECT_EQ(*gate_.available(), 2);
  EXPECT_TRUE(absl::IsFailedPrecondition(gate_.release_many(three)));
  EXPECT_EQ(*gate_.available(), 2);
}

TEST_P(SemaphoreTest, ReleasedPermitDoesNotKeepOthers) {
  ASSERT_TRUE(*gate_.try_set_permits(3));
  auto permits = *gate_.acquire_many(2, 0);
  ASSERT_TRUE(gate_.release(permits[0]).ok());
  permits.push_back(permits[1]);
  const absl::Status released = gate_.release_many(permits);
  EXPECT_TRUE(absl::IsFailedPrecondition(released));
  EXPECT_EQ(released.message(), "2 of 3 permits of gate are not held, or their leases have ended")
      << "one was released, one is named twice";
  EXPECT_EQ(*gate_.available(), 3);
}

TEST_P(SemaphoreInManualTimeTest, LeasesOfSeveralPermitsEndTogether) {
  ASSERT_TRUE(*gate_.try_set_permits(4));
  const auto held = *gate_.acquire_many(3, 0, 5'000);
  std::optional<Semaphore::Permits> taken;
  other_.acquire_many_async(4, Semaphore::kForever, Semaphore::kNoLease,
                            [&](absl::StatusOr<Semaphore::Permits> permits) { taken = *permits; });
  advance_ms(4'999);
  EXPECT_FALSE(taken);
  advance_ms(1);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->size(), 4U);
  EXPECT_TRUE(absl::IsFailedPrecondition(gate_.release_many(held)));
  EXPECT_EQ(*gate_.available(), 0);
}

TEST_P(SemaphoreTest, NumberOfPermitsIsBounded) {
  ASSERT_TRUE(*gate_.try_set_permits(2'000));
  for (const std::int64_t count : {std::int64_t{0}, Semaphore::kPermitsMax + 1}) {
    EXPECT_TRUE(absl::IsInvalidArgument(gate_.acquire_many(count, 0).status()));
  }
  const auto most = *gate_.acquire_many(Semaphore::kPermitsMax, 0);
  EXPECT_EQ(most.size(), static_cast<std::size_t>(Semaphore::kPermitsMax));
  EXPECT_TRUE(absl::IsInvalidArgument(gate_.release_many({})));
  const std::vector<std::string> faulty = {most[0], "no id"};
  EXPECT_TRUE(absl::IsInvalidArgument(gate_.release_many(faulty)));
  EXPECT_EQ(*gate_.available(), 1'000) << "nothing was released";
  EXPECT_TRUE(gate_.release_many(most).ok());
}

TEST_P(SemaphoreTest, LostReplyLeaksNoPermit) {
  bool loses = false;
  FaultyBackend lossy(*backend_, [&](const Request& request) {
    const bool is_lost = request[0].starts_with("EVAL") && std::exchange(loses, false);
    return is_lost ? Fault::kReplyLost : Fault::kNone;
  });
  LockManager manager(lossy);
  Semaphore gate(manager, "gate");
  ASSERT_TRUE(*gate.try_set_permits(1));
  ASSERT_TRUE(gate.release(**gate.acquire(0)).ok());  // loads the scripts
  loses = true;
  EXPECT_TRUE(absl::IsUnavailable(gate.acquire(0).status()));
  EXPECT_EQ(*gate.available(), 1);
  ASSERT_TRUE(gate.release_many(*gate.acquire_many(1, 0)).ok());
  (*client_)("INCRBY", "gate", 2);
  loses = true;
  EXPECT_TRUE(absl::IsUnavailable(gate.acquire_many(3, 0).status()));
  EXPECT_EQ(*gate.available(), 3);
}

TEST_P(SemaphoreTest, ErrorsAreReported) {
  EXPECT_TRUE(absl::IsInvalidArgument(gate_.release("no id")));
  EXPECT_TRUE(absl::IsInvalidArgument(gate_.try_set_permits(-1).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(gate_.release(std::string(32, 'a'))));
  (*client_)("SET", "gate", "text");
  EXPECT_FALSE(gate_.acquire(0).ok());
}

TEST(SemaphoreThreadsTest, HoldersNeverExceedPermits) {
  constexpr int kPermits = 2;
  const auto engine = *Engine::open(std::make_unique<MemoryStore>());
  LockManager manager(*engine);
  Semaphore gate(manager, "gate");
  ASSERT_TRUE(*gate.try_set_permits(kPermits));
  std::atomic<int> holders = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 5; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 40; ++n) {
        const auto permit = gate.acquire(Semaphore::kForever);
        ASSERT_TRUE(permit.ok() && *permit);
        EXPECT_LE(++holders, kPermits);
        --holders;
        EXPECT_TRUE(gate.release(**permit).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// ---- PlainSemaphore ----

class PlainSemaphoreTest : public RecipeTest {
 protected:
  LockManager manager_{*backend_};
  LockManager other_manager_{*backend_};
  PlainSemaphore stock_{manager_, "gate"};
  PlainSemaphore other_{other_manager_, "gate"};
};
INSTANTIATE_TEST_SUITE_P(Backends, PlainSemaphoreTest, all_recipe_kinds(), recipe_name);

TEST_P(PlainSemaphoreTest, PermitsAreTakenAllOrNone) {
  EXPECT_FALSE(*stock_.acquire(1, 0)) << "never set";
  EXPECT_TRUE(*stock_.try_set_permits(5));
  EXPECT_FALSE(*other_.try_set_permits(9));
  EXPECT_TRUE(*stock_.acquire(3, 0));
  EXPECT_FALSE(*other_.acquire(3, 0));
  EXPECT_EQ((*client_)("GET", "gate"), Reply::bulk("2")) << "as RSemaphore keeps it";
  EXPECT_TRUE(*other_.acquire(2, 0));
  EXPECT_TRUE(other_.release(4).ok()) << "by anyone, without an id";
  EXPECT_EQ(*stock_.available(), 4);
  EXPECT_EQ(*stock_.drain(), 4);
  EXPECT_EQ(*stock_.drain(), 0);
  for (const std::int64_t count : {0, -1}) {
    EXPECT_TRUE(absl::IsInvalidArgument(stock_.acquire(count, 0).status()));
    EXPECT_TRUE(absl::IsInvalidArgument(stock_.release(count)));
  }
  EXPECT_TRUE(absl::IsInvalidArgument(stock_.try_set_permits(-1).status()));
}

TEST_P(PlainSemaphoreTest, WaiterIsWokenOnceEnoughAreFree) {
  ASSERT_TRUE(*stock_.try_set_permits(0));
  PendingLock waiter;
  other_.acquire_async(3, PlainSemaphore::kForever, waiter.callback());
  while ((*client_)("PUBSUB", "NUMSUB", kSemaphoreChannel).elements()[1] != Reply::integer(1)) {
  }
  ASSERT_TRUE(stock_.release(2).ok());
  EXPECT_FALSE(waiter.is_done());
  (*client_)("INCRBY", "gate", 1);  // as RSemaphore releases
  (*client_)("PUBLISH", kSemaphoreChannel, 3);
  EXPECT_TRUE(*waiter.result());
  EXPECT_EQ(*stock_.available(), 0);
}

}  // namespace
}  // namespace rushgate
