#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/recipes/locks/lock_scripts.h"
#include "tests/support/hooked_backend.h"
#include "tests/unit/recipes/locks/lock_fixture.h"
#include <rushgate/locks.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

using faults::FaultyBackend;
using Fault = FaultyBackend::Fault;

using namespace std::chrono_literals;

constexpr char kLockChannel[] = "redisson_lock__channel:{shop}";
constexpr std::uint64_t kOther = 1'000'000;  // an owner that is no thread of the test

class ReentrantLockTest : public RecipeTest {
 protected:
  /// Deletes the lock as if every lease had expired.
  void expire() {
    if (engine_ != nullptr) return advance_ms(60'000);
    (*client_)("DEL", "shop");
  }
  Reply field(const LockManager& manager) {
    return (*client_)("HGET", "shop", manager.client_id() + ':' + std::to_string(manager.caller()));
  }

  LockManager manager_{*backend_, {.client_id = "jvm-1"}};
  LockManager other_manager_{*backend_};
  ReentrantLock lock_{manager_, "shop"};
  ReentrantLock other_{other_manager_, "shop"};
};
INSTANTIATE_TEST_SUITE_P(Backends, ReentrantLockTest, all_recipe_kinds(), recipe_name);

/// Timers and leases use a clock that the test moves.
class ReentrantLockInManualTimeTest : public ReentrantLockTest {};
INSTANTIATE_TEST_SUITE_P(Backends, ReentrantLockInManualTimeTest, manual_time_recipe_kinds(),
                         recipe_name);

/// Uses connections that can be lost, as can their replies.
class ReentrantLockOnRedisTest : public ReentrantLockTest {};
INSTANTIATE_TEST_SUITE_P(Backends, ReentrantLockOnRedisTest, ::testing::Values(RecipeKind::kRedis),
                         recipe_name);

// ---- Owners and keys ----

TEST_P(ReentrantLockTest, KeysAreRedissons) {
  ASSERT_TRUE(lock_.acquire().ok());
  const std::string owner = "jvm-1:" + std::to_string(manager_.caller());
  EXPECT_EQ((*client_)("HGETALL", "shop"), Reply::array({Reply::bulk(owner), Reply::bulk("1")}));
  const std::int64_t lease_ms = (*client_)("PTTL", "shop").integer();
  EXPECT_GT(lease_ms, 20'000);
  EXPECT_LE(lease_ms, 30'000);
  ASSERT_TRUE(lock_.acquire(60'000).ok());
  EXPECT_EQ(field(manager_), Reply::bulk("2"));
  EXPECT_GT((*client_)("PTTL", "shop").integer(), 30'000);
  EXPECT_TRUE(lock_.release().ok());
  EXPECT_EQ(field(manager_), Reply::bulk("1"));
  EXPECT_TRUE(lock_.is_held());
  EXPECT_TRUE(lock_.release().ok());
  EXPECT_EQ((*client_)("KEYS", "*"), Reply::array()) << "no latch stays";
}

TEST_P(ReentrantLockTest, ReleasePublishesZero) {
  std::promise<Reply> message;
  const auto subscriber = backend_->open_client(
      {.on_message = [&](Reply sent) { message.set_value(std::move(sent)); }});
  (*subscriber)("SUBSCRIBE", kLockChannel);
  ASSERT_TRUE(lock_.acquire().ok());
  ASSERT_TRUE(lock_.acquire().ok());
  ASSERT_TRUE(lock_.release().ok());
  ASSERT_TRUE(lock_.release().ok());
  EXPECT_EQ(message.get_future().get(),
            Reply::array({Reply::bulk("message"), Reply::bulk(kLockChannel), Reply::bulk("0")}));
}

TEST_P(ReentrantLockTest, OtherOwnersAreRefused) {
  ASSERT_TRUE(lock_.acquire().ok());
  EXPECT_FALSE(*other_.try_acquire(0)) << "another process";
  EXPECT_FALSE(*begin(lock_, kOther, 0).result()) << "another thread";
  EXPECT_TRUE(absl::IsFailedPrecondition(other_.release()));
  EXPECT_TRUE(absl::IsFailedPrecondition(lock_.release_of(kOther)));
  EXPECT_EQ(field(manager_), Reply::bulk("1"));
  ASSERT_TRUE(lock_.release().ok());
  EXPECT_TRUE(*other_.try_acquire(0));
}

/// Each side of a ReadWriteLock is one of the kinds.
TEST_P(ReentrantLockTest, StateOfEachKindIsServers) {
  const auto lock_of = [&](LockManager& manager, std::size_t kind) {
    const std::vector<ReentrantLock> kinds = {
        ReentrantLock(manager, "shop"), ReentrantLock(manager, "shop", {.is_fenced = true}),
        FairLock(manager, "shop"), ReadWriteLock(manager, "shop").read_lock(),
        ReadWriteLock(manager, "shop").write_lock()};
    return kinds.at(kind);
  };
  for (std::size_t kind = 0; kind < 5; ++kind) {
    ReentrantLock lock = lock_of(manager_, kind);
    ReentrantLock other = lock_of(other_manager_, kind);
    EXPECT_FALSE(lock.state()->is_locked);
    EXPECT_EQ(lock.state()->lease_left_ms, 0);
    EXPECT_FALSE(*lock.force_release());
    ASSERT_TRUE(lock.acquire(60'000).ok() && lock.acquire(60'000).ok());
    for (ReentrantLock* const asked : {&lock, &other}) {
      const LockState state = *asked->state();
      EXPECT_TRUE(state.is_locked) << kind;
      EXPECT_EQ(state.holds, asked == &lock ? 2 : 0) << kind;
      EXPECT_GT(state.lease_left_ms, 50'000);
      EXPECT_LE(state.lease_left_ms, 60'000);
    }
    EXPECT_TRUE(*other.force_release()) << "of another owner";
    EXPECT_FALSE(other.state()->is_locked);
    EXPECT_TRUE(absl::IsFailedPrecondition(lock.release()));
    EXPECT_TRUE(*other.try_acquire(0));
    EXPECT_TRUE(other.release().ok());
  }
}

TEST_P(ReentrantLockTest, ReadWriteSidesAreLockedByThemselves) {
  ReadWriteLock prices(manager_, "shop");
  ASSERT_TRUE(prices.write_lock().acquire().ok());
  ASSERT_TRUE(prices.read_lock().acquire().ok());
  EXPECT_TRUE(prices.write_lock().state()->is_locked);
  EXPECT_FALSE(prices.read_lock().state()->is_locked) << "there is a writer, which also reads";
  EXPECT_EQ(prices.read_lock().state()->holds, 1);
  EXPECT_FALSE(*prices.read_lock().force_release());
  EXPECT_TRUE(*prices.write_lock().force_release());
  EXPECT_EQ(prices.read_lock().state()->holds, 0);
}

TEST_P(ReentrantLockTest, ForcedReleaseWakesWaiter) {
  (*client_)("HSET", "shop", "jvm-9:1", 1);  // without a lease
  EXPECT_EQ(lock_.state()->lease_left_ms, -1);
  const PendingLock waiter = begin(other_, kOther);
  while ((*client_)("PUBSUB", "NUMSUB", kLockChannel).elements()[1] == Reply::integer(0)) {
  }
  EXPECT_TRUE(*lock_.force_release());
  EXPECT_TRUE(*waiter.result());
}

/// The classic `synchronized` is a separate mutex in each process.
TEST_P(ReentrantLockTest, LockHoldsAmongProcesses) {
  std::mutex in_process;
  std::mutex in_other_process;
  EXPECT_TRUE(in_process.try_lock() && in_other_process.try_lock()) << "the wrong way";
  in_process.unlock();
  in_other_process.unlock();
  ASSERT_TRUE(*lock_.try_acquire(0));
  EXPECT_FALSE(*other_.try_acquire(0));
}

/// The classic `synchronized (userId.toString())` uses a new object each time.
TEST_P(ReentrantLockTest, LocksOfSameNameAreShared) {
  const std::string user = "user:1001";
  auto first = std::make_unique<std::mutex>();
  auto second = std::make_unique<std::mutex>();
  EXPECT_TRUE(first->try_lock() && second->try_lock()) << "the wrong way";
  first->unlock();
  second->unlock();
  ASSERT_TRUE(*begin(ReentrantLock(manager_, user), 1'001, 0).result());
  EXPECT_FALSE(*begin(ReentrantLock(manager_, std::string(user)), 1'002, 0).result());
}

/// Sends the requests of RLock as commands.
TEST_P(ReentrantLockTest, LockOfJvmIsRespectedAndAwaited) {
  (*client_)("HINCRBY", "shop", "8743c9c0-0795-4907-87fd-6c719a6b4586:1", 1);
  (*client_)("PEXPIRE", "shop", 30'000);
  EXPECT_FALSE(*lock_.try_acquire(0));
  const PendingLock waiter = begin(lock_, kOther);
  while ((*client_)("PUBSUB", "NUMSUB", kLockChannel).elements()[1] != Reply::integer(1)) {
  }
  EXPECT_FALSE(waiter.is_done());
  (*client_)("DEL", "shop");
  (*client_)("PUBLISH", kLockChannel, "0");
  EXPECT_TRUE(*waiter.result());
}

TEST_P(ReentrantLockTest, KeyOfWrongTypeIsError) {
  (*client_)("SET", "shop", "text");
  EXPECT_EQ(lock_.acquire().code(), absl::StatusCode::kInternal);
}

// ---- Expiry ----

/// The classic way deletes the key without checking the owner.
TEST_P(ReentrantLockTest, UnlockAfterExpirySparesNextHolder) {
  ASSERT_TRUE(lock_.acquire(5'000).ok());
  expire();
  ASSERT_TRUE(*other_.try_acquire(0));
  EXPECT_TRUE(absl::IsFailedPrecondition(lock_.release()));
  EXPECT_EQ(field(other_manager_), Reply::bulk("1"));
  (*client_)("DEL", "shop");  // the wrong way to unlock
  EXPECT_TRUE(*lock_.try_acquire(0)) << "two holders";
}

/// The classic way sets an expiry that is shorter than the work.
TEST_P(ReentrantLockInManualTimeTest, WatchdogRenewsWhileWorkLasts) {
  SimpleLock simple(*backend_, "shop", {.lease_ms = 30'000});
  ASSERT_TRUE(*simple.acquire());
  ASSERT_TRUE(lock_.acquire().ok());
  advance_ms(600'000);
  EXPECT_EQ((*client_)("EXISTS", "lock:shop"), Reply::integer(0)) << "the wrong way";
  EXPECT_TRUE(lock_.is_held());
  EXPECT_GE((*client_)("PTTL", "shop").integer(), 20'000);
  EXPECT_FALSE(*other_.try_acquire(0));
  EXPECT_TRUE(lock_.release().ok());
}

TEST_P(ReentrantLockInManualTimeTest, LockOfCrashedHolderExpires) {
  auto crashed = std::make_unique<LockManager>(*backend_);
  ASSERT_TRUE(ReentrantLock(*crashed, "shop").acquire().ok());
  ASSERT_EQ((*client_)("SETNX", "naive", "thread-1"), Reply::integer(1));
  advance_ms(100'000);
  crashed.reset();
  EXPECT_FALSE(*lock_.try_acquire(0));
  advance_ms(30'000);
  EXPECT_TRUE(*lock_.try_acquire(0));
  EXPECT_EQ((*client_)("SETNX", "naive", "thread-2"), Reply::integer(0)) << "the wrong way";
}

/// The classic way renews on a thread that checks no owner and is never stopped.
TEST_P(ReentrantLockInManualTimeTest, RenewalEndsWithRelease) {
  std::atomic<int> requests = 0;
  HookedBackend hooked(*backend_, {.before = [&](const Request&) { ++requests; }});
  LockManager manager(hooked);
  ReentrantLock lock(manager, "shop");
  ASSERT_TRUE(lock.acquire().ok());
  ASSERT_TRUE(lock.acquire().ok());
  ASSERT_TRUE(lock.release().ok());
  advance_ms(100'000);
  EXPECT_TRUE(lock.is_held()) << "one hold is left";
  ASSERT_TRUE(lock.release().ok());
  ASSERT_TRUE(*other_.try_acquire(0, 5'000));
  requests = 0;
  advance_ms(4'999);
  EXPECT_EQ((*client_)("PTTL", "shop"), Reply::integer(1)) << "the next holder's lease";
  advance_ms(100'000);
  EXPECT_EQ(requests, 0);

  (*client_)("SET", "naive", "next holder, which dies", "PX", 5'000);
  for (int i = 0; i < 10; ++i) {
    (*client_)("PEXPIRE", "naive", 30'000);
    advance_ms(10'000);
  }
  EXPECT_EQ((*client_)("EXISTS", "naive"), Reply::integer(1)) << "the wrong way";
}

/// The second waiter has seen only the first holder's lease, and a lease ends without a message.
TEST_P(ReentrantLockInManualTimeTest, LostLockWakesNextWaiter) {
  ASSERT_TRUE(other_.acquire(600'000).ok());
  const PendingLock slow = begin(lock_, kOther, ReentrantLock::kForever, 5'000);
  const PendingLock next = begin(lock_, kOther + 1);
  ASSERT_TRUE(other_.release().ok());
  ASSERT_TRUE(slow.is_done());
  EXPECT_FALSE(next.is_done());
  advance_ms(5'000);
  EXPECT_TRUE(next.is_done()) << "the first one's work outlasted its lease";
}

/// In the classic way, and in RLock, the first error ends renewal while the holder works on.
TEST_P(ReentrantLockInManualTimeTest, FailedRenewalIsRepeated) {
  bool fails = false;
  FaultyBackend lossy(*backend_, [&](const Request& request) {
    return fails && request[0] == "EVAL" ? Fault::kRequestLost : Fault::kNone;
  });
  std::vector<std::string> lost;
  LockManager manager(
      lossy, {.on_lost = [&](const std::string& name, std::uint64_t) { lost.push_back(name); }});
  ReentrantLock lock(manager, "shop");
  ASSERT_TRUE(lock.acquire().ok());
  (*client_)("SET", "naive", "owner", "PX", 30'000);
  fails = true;
  advance_ms(25'000);
  EXPECT_EQ((*client_)("EXISTS", "naive"), Reply::integer(1));
  fails = false;
  advance_ms(100'000);
  EXPECT_TRUE(lock.is_held());
  EXPECT_FALSE(*other_.try_acquire(0));
  EXPECT_EQ((*client_)("EXISTS", "naive"), Reply::integer(0)) << "the wrong way: no renewal since";

  fails = true;
  while ((*client_)("EXISTS", "shop") == Reply::integer(1)) {
    EXPECT_EQ(lost, std::vector<std::string>{});
    advance_ms(1'000);
  }
  EXPECT_EQ(lost, std::vector<std::string>{"shop"}) << "a loss is reported";
  EXPECT_FALSE(lock.is_held());
}

/// A backend whose completions run on the test's request. Counts the uses of its clock and
/// scheduler.
class LateBackend final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;

  using Backend::open_client;
  [[nodiscard]] std::unique_ptr<Client> open_client(const ClientOptions& options) override {
    return std::make_unique<LateClient>(ForwardingBackend::open_client(options), completions_);
  }
  [[nodiscard]] const Clock& clock() const override {
    ++uses_;
    return ForwardingBackend::clock();
  }
  [[nodiscard]] Scheduler& scheduler() override {
    ++uses_;
    return ForwardingBackend::scheduler();
  }

  void run_next() {
    auto next = std::move(completions_.front());
    completions_.pop_front();
    next();
  }
  [[nodiscard]] int uses() const { return uses_; }

 private:
  using Completions = std::deque<absl::AnyInvocable<void()>>;
  class LateClient final : public ForwardingClient {
   public:
    LateClient(std::unique_ptr<Client> client, Completions& completions)
        : ForwardingClient(std::move(client)), completions_(completions) {}
    void submit(Request request, Completion completion) override {
      ForwardingClient::submit(std::move(request), [&late = completions_,
                                                    completion = std::move(completion)](
                                                       Reply reply) mutable {
        late.emplace_back([completion = std::move(completion), reply = std::move(reply)]() mutable {
          completion(std::move(reply));
        });
      });
    }

   private:
    Completions& completions_;
  };

  Completions completions_;
  mutable int uses_ = 0;
};

/// A backend that wraps another one may be destroyed directly after the manager.
TEST_P(ReentrantLockInManualTimeTest, LateCompletionsNeedNoBackend) {
  ASSERT_TRUE(other_.acquire().ok());
  LateBackend late(*backend_);
  auto manager = std::make_unique<LockManager>(late);
  const PendingLock pending = begin(ReentrantLock(*manager, "shop"), kOther, 10'000);
  late.run_next();  // of the first attempt
  late.run_next();  // of SUBSCRIBE: sends the second attempt
  manager.reset();
  EXPECT_EQ(pending.result().status().code(), absl::StatusCode::kCancelled);
  const int uses = late.uses();
  late.run_next();  // another owner has the lock
  EXPECT_EQ(late.uses(), uses);
}

TEST_P(ReentrantLockInManualTimeTest, LostLockIsReportedOnce) {
  std::vector<std::uint64_t> lost;
  LockManager manager(*backend_, {.on_lost = [&](const std::string&, std::uint64_t owner) {
    lost.push_back(owner);
  }});
  ReentrantLock lock(manager, "shop");
  ASSERT_TRUE(lock.acquire().ok());
  (*client_)("FLUSHALL");
  ASSERT_TRUE(*other_.try_acquire(0));
  advance_ms(10'000);
  EXPECT_EQ(lost, std::vector<std::uint64_t>{manager.caller()});
  EXPECT_FALSE(lock.is_held());
  EXPECT_TRUE(absl::IsFailedPrecondition(lock.release()));
  advance_ms(100'000);
  EXPECT_EQ(lost.size(), 1U);
  EXPECT_TRUE(other_.is_held());
}

TEST_P(ReentrantLockInManualTimeTest, ExpiredLeaseIsReported) {
  int lost = 0;
  LockManager manager(*backend_, {.on_lost = [&](const std::string&, std::uint64_t) { ++lost; }});
  ReentrantLock lock(manager, "shop");
  ASSERT_TRUE(lock.acquire(5'000).ok());
  advance_ms(4'999);
  EXPECT_TRUE(lock.is_held());
  advance_ms(1);
  EXPECT_FALSE(lock.is_held());
  EXPECT_EQ(lost, 1);
  EXPECT_TRUE(*other_.try_acquire(0));
}

TEST_P(ReentrantLockInManualTimeTest, LeaseCanBeSet) {
  ASSERT_TRUE(lock_.acquire().ok());
  ASSERT_TRUE(lock_.set_lease(90'000).ok());
  EXPECT_EQ((*client_)("PTTL", "shop"), Reply::integer(90'000));
  advance_ms(90'000);
  EXPECT_FALSE(lock_.is_held()) << "renewed no longer";
  EXPECT_TRUE(absl::IsFailedPrecondition(lock_.set_lease(1'000)));
  EXPECT_TRUE(absl::IsInvalidArgument(lock_.set_lease(0)));
}

/// The machine's clock may jump. Leases are monotonic.
TEST_P(ReentrantLockInManualTimeTest, ClockJumpEndsNoLease) {
  ASSERT_TRUE(lock_.acquire(60'000).ok());
  set_now_ms(clock_.now_ms() - 3'600'000);
  advance_ms(59'999);
  EXPECT_TRUE(lock_.is_held());
  advance_ms(1);
  EXPECT_FALSE(lock_.is_held());
}

// ---- Waiting ----

TEST_P(ReentrantLockTest, WaiterIsWokenByRelease) {
  ASSERT_TRUE(other_.acquire().ok());
  const PendingLock waiter = begin(lock_, kOther);
  ASSERT_TRUE(other_.release().ok());
  EXPECT_TRUE(*waiter.result());
  EXPECT_TRUE(lock_.is_held_by(kOther));
  EXPECT_TRUE(lock_.release_of(kOther).ok());
}

TEST_P(ReentrantLockTest, EachReleaseWakesOneWaiter) {
  constexpr std::uint64_t kWaiters = 5;
  ASSERT_TRUE(other_.acquire().ok());
  std::vector<PendingLock> waiters;
  for (std::uint64_t i = 0; i < kWaiters; ++i) waiters.push_back(begin(lock_, kOther + i));
  ASSERT_TRUE(other_.release().ok());
  std::set<std::uint64_t> done;
  while (done.size() < kWaiters) {
    for (std::uint64_t i = 0; i < kWaiters; ++i) {
      if (done.contains(i) || !waiters[i].is_done()) continue;
      EXPECT_TRUE(*waiters[i].result());
      EXPECT_TRUE(lock_.release_of(kOther + i).ok());
      done.insert(i);
    }
  }
}

/// The classic way polls with SETNX.
TEST_P(ReentrantLockInManualTimeTest, WaitingSendsNothing) {
  std::atomic<int> requests = 0;
  HookedBackend hooked(*backend_, {.before = [&](const Request&) { ++requests; }});
  LockManager manager(hooked);
  const ReentrantLock lock(manager, "shop");
  ASSERT_TRUE(other_.acquire(600'000).ok());
  const PendingLock waiter = begin(lock, kOther);
  const int begun = requests;
  EXPECT_LE(begun, 3) << "try, subscribe, try again";
  advance_ms(500'000);
  EXPECT_EQ(requests, begun);
  ASSERT_TRUE(other_.release().ok());
  EXPECT_TRUE(*waiter.result());

  (*client_)("SET", "lock:shop", "another holder");
  SimpleLock polled(hooked, "shop");
  requests = 0;
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(polled.try_lock());
    advance_ms(100);
  }
  EXPECT_EQ(requests, 50) << "the wrong way";
}

/// The classic way tries, subscribes, and waits for a message that was sent before.
TEST_P(ReentrantLockInManualTimeTest, ReleaseBeforeSubscriptionIsSeen) {
  bool releases = true;
  HookedBackend hooked(*backend_, {.before = [&](const Request& request) {
    if (request[0] != "SUBSCRIBE" || !std::exchange(releases, false)) return;
    EXPECT_TRUE(other_.release().ok());
  }});
  LockManager manager(hooked);
  ASSERT_TRUE(other_.acquire().ok());
  EXPECT_TRUE(*begin(ReentrantLock(manager, "shop"), kOther).result());

  int messages = 0;
  const auto naive = backend_->open_client({.on_message = [&](const Reply&) { ++messages; }});
  ASSERT_EQ((*client_)("EXISTS", "shop"), Reply::integer(1)) << "the attempt fails";
  (*client_)("DEL", "shop");
  (*client_)("PUBLISH", kLockChannel, "0");
  (*naive)("SUBSCRIBE", kLockChannel);
  advance_ms(600'000);
  EXPECT_EQ(messages, 0) << "the wrong way";
}

TEST_P(ReentrantLockInManualTimeTest, ExpiredLeaseWakesWaiter) {
  ASSERT_TRUE(other_.acquire(5'000).ok());
  const PendingLock waiter = begin(lock_, kOther);
  advance_ms(4'999);
  EXPECT_FALSE(waiter.is_done());
  advance_ms(1);
  EXPECT_TRUE(*waiter.result());
}

TEST_P(ReentrantLockInManualTimeTest, WaitEndsAtItsDeadline) {
  ASSERT_TRUE(other_.acquire().ok());
  const PendingLock waiter = begin(lock_, kOther, 1'500);
  advance_ms(1'499);
  EXPECT_FALSE(waiter.is_done());
  advance_ms(1);
  EXPECT_FALSE(*waiter.result());
  advance_ms(1);
  EXPECT_EQ((*client_)("PUBSUB", "CHANNELS"), Reply::array()) << "unsubscribed";
}

TEST_P(ReentrantLockTest, WaitsEndWithTheirManager) {
  ASSERT_TRUE(other_.acquire().ok());
  auto manager = std::make_unique<LockManager>(*backend_);
  ReentrantLock lock(*manager, "shop");
  const PendingLock waiter = begin(lock, kOther);
  manager.reset();
  EXPECT_TRUE(absl::IsCancelled(waiter.result().status()));
  EXPECT_TRUE(absl::IsCancelled(lock.acquire()));
  EXPECT_TRUE(absl::IsCancelled(lock.release()));
  EXPECT_FALSE(lock.is_held());
}

// ---- Fencing ----

TEST_P(ReentrantLockTest, TokensAscendWithAcquisitions) {
  ReentrantLock fenced(manager_, "shop", {.is_fenced = true});
  ReentrantLock other(other_manager_, "shop", {.is_fenced = true});
  ASSERT_TRUE(fenced.acquire(5'000).ok());
  const std::int64_t first = fenced.token();
  EXPECT_EQ((*client_)("GET", "redisson_lock_token:{shop}"), Reply::bulk(std::to_string(first)));
  expire();  // the holder is paused
  ASSERT_TRUE(*other.try_acquire(0));
  EXPECT_GT(other.token(), first) << "the protected resource refuses the first from now on";
}

/// The classic way has a lease, but no token.
TEST_P(ReentrantLockTest, LateWriteOfPausedHolderIsRefused) {
  std::int64_t last_token = 0;
  std::string protected_value;
  std::string unprotected_value;
  const auto write = [&](std::int64_t token, const std::string& value) {
    unprotected_value = value;
    if (token < last_token) return false;
    last_token = token;
    protected_value = value;
    return true;
  };
  ReentrantLock fenced(manager_, "shop", {.is_fenced = true});
  ReentrantLock other(other_manager_, "shop", {.is_fenced = true});
  ASSERT_TRUE(fenced.acquire(5'000).ok());
  const std::int64_t paused_token = fenced.token();
  expire();
  ASSERT_TRUE(*other.try_acquire(0));
  EXPECT_TRUE(write(other.token(), "of the next holder"));
  EXPECT_FALSE(write(paused_token, "of the paused holder"));
  EXPECT_EQ(protected_value, "of the next holder");
  EXPECT_EQ(unprotected_value, "of the paused holder") << "the wrong way";
}

// ---- Lost replies ----

/// Without the latch, the second attempt would release a hold that the first one left.
TEST_P(ReentrantLockOnRedisTest, ReleaseIsIdempotentUnderRetry) {
  int losses = 0;
  FaultyBackend lossy(*backend_, [&](const Request& request) {
    const bool is_release = request[0] == "EVALSHA" &&
                            request[1] == scripts_of(LockKind::kPlain).release.sha1() && losses > 0;
    if (!is_release) return Fault::kNone;
    --losses;
    return Fault::kReplyLost;
  });
  LockManager manager(lossy);
  ReentrantLock lock(manager, "shop");
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(lock.acquire().ok());
  ASSERT_TRUE(lock.release().ok());  // loads the script
  losses = 2;
  EXPECT_TRUE(lock.release().ok());
  EXPECT_EQ(losses, 0);
  EXPECT_EQ(field(manager), Reply::bulk("1"));
  losses = 1;
  EXPECT_TRUE(lock.release().ok());
  EXPECT_EQ((*client_)("KEYS", "*"), Reply::array());
  ASSERT_TRUE(lock.acquire().ok());
  losses = 100;
  EXPECT_TRUE(absl::IsUnavailable(lock.release()));

  (*client_)("HSET", "naive", "owner", 2);
  (*client_)("HINCRBY", "naive", "owner", -1);  // its reply is lost
  EXPECT_EQ((*client_)("HINCRBY", "naive", "owner", -1), Reply::integer(0)) << "the wrong way";
}

TEST_P(ReentrantLockTest, AcquisitionWithLostReplyIsReleased) {
  bool loses = true;
  FaultyBackend lossy(*backend_, [&](const Request& request) {
    const bool is_lost = request[0] == "EVAL" && std::exchange(loses, false);
    return is_lost ? Fault::kReplyLost : Fault::kNone;
  });
  LockManager manager(lossy);
  ReentrantLock lock(manager, "shop");
  EXPECT_TRUE(absl::IsUnavailable(begin(lock, manager.caller(), 0).result().status()));
  ASSERT_TRUE(lock.acquire().ok());
  EXPECT_EQ(field(manager), Reply::bulk("2"));
  EXPECT_TRUE(lock.release().ok());
  EXPECT_EQ((*client_)("KEYS", "*"), Reply::array());

  (*client_)("HINCRBY", "naive", "owner", 1);  // its reply is lost
  (*client_)("HINCRBY", "naive", "owner", 1);
  EXPECT_EQ((*client_)("HINCRBY", "naive", "owner", -1), Reply::integer(1)) << "the wrong way";
}

TEST_P(ReentrantLockInManualTimeTest, LostReplyStillShortensLease) {
  bool loses = false;
  FaultyBackend lossy(*backend_, [&](const Request& request) {
    const bool is_lost = request[0].starts_with("EVAL") && std::exchange(loses, false);
    return is_lost ? Fault::kReplyLost : Fault::kNone;
  });
  LockManager manager(lossy);
  ReentrantLock lock(manager, "shop");
  ASSERT_TRUE(lock.acquire(60'000).ok());
  loses = true;
  EXPECT_TRUE(absl::IsUnavailable(lock.acquire(5'000)));
  advance_ms(5'000);
  EXPECT_TRUE(*other_.try_acquire(0));
  EXPECT_FALSE(lock.is_held());
}

TEST_P(ReentrantLockInManualTimeTest, WaiterOutlastsTemporaryErrors) {
  bool fails = false;
  FaultyBackend lossy(*backend_, [&](const Request& request) {
    return fails && request[0] == "EVAL" ? Fault::kRequestLost : Fault::kNone;
  });
  LockManager manager(lossy);
  ASSERT_TRUE(other_.acquire(5'000).ok());
  const PendingLock waiter = begin(ReentrantLock(manager, "shop"), kOther);
  const PendingLock late = begin(ReentrantLock(manager, "shop"), kOther + 1, 6'000);
  fails = true;
  advance_ms(7'500);
  EXPECT_TRUE(absl::IsUnavailable(late.result().status())) << "the deadline ends it";
  EXPECT_FALSE(waiter.is_done());
  fails = false;
  advance_ms(1'000);
  EXPECT_TRUE(*waiter.result());
}

TEST_P(ReentrantLockInManualTimeTest, WaiterOutlastsFailedSubscription) {
  bool fails = true;
  FaultyBackend lossy(*backend_, [&](const Request& request) {
    return fails && request[0] == "SUBSCRIBE" ? Fault::kRequestLost : Fault::kNone;
  });
  LockManager manager(lossy);
  ASSERT_TRUE(other_.acquire().ok());
  const PendingLock waiter = begin(ReentrantLock(manager, "shop"), kOther);
  const PendingLock late = begin(ReentrantLock(manager, "shop"), kOther + 1, 2'500);
  advance_ms(2'500);
  EXPECT_FALSE(*late.result());
  EXPECT_FALSE(waiter.is_done());
  fails = false;
  advance_ms(1'000);
  ASSERT_TRUE(other_.release().ok());
  EXPECT_TRUE(*waiter.result());
}

/// A restarted server has no lock and sends no message. The classic way waits for one.
TEST_P(ReentrantLockOnRedisTest, WaiterTriesAgainAfterReconnection) {
  std::atomic<int> messages = 0;
  const auto naive = backend_->open_client({.on_message = [&](const Reply& message) {
    if (message.elements()[0] == Reply::bulk("message")) ++messages;
  }});
  (*naive)("SUBSCRIBE", kLockChannel);
  ASSERT_TRUE(other_.acquire().ok());
  const PendingLock waiter = begin(lock_, kOther);
  while ((*client_)("PUBSUB", "NUMSUB", kLockChannel).elements()[1] != Reply::integer(2)) {
  }
  (*server_)->restart();
  const auto acquired = waiter.result();
  EXPECT_TRUE(acquired.ok() && *acquired) << acquired.status();
  EXPECT_EQ(messages, 0) << "the wrong way";
}

// ---- Threads ----

/// Runs two managers, as two processes, each with threads. Only the lock guards the counter.
template <class Open>
void count_under_lock(const Open& open) {
  constexpr int kThreads = 3;
  constexpr int kEach = 60;
  const std::unique_ptr<Backend> backend = open();
  LockManager first(*backend);
  LockManager second(*backend);
  volatile int counter = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    for (LockManager* const manager : {&first, &second}) {
      threads.emplace_back([&counter, manager] {
        ReentrantLock lock(*manager, "counter");
        for (int n = 0; n < kEach; ++n) {
          const std::lock_guard held(lock);
          const int before = counter;
          std::this_thread::yield();
          counter = before + 1;
        }
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter, kThreads * 2 * kEach);
}

TEST(ReentrantLockThreadsTest, ThreadsExcludeEachOtherOnEngine) {
  for (const auto policy :
       {EngineOptions::Policy::kCallers, EngineOptions::Policy::kServiceThreadOnly}) {
    count_under_lock(
        [&] { return *Engine::open(std::make_unique<MemoryStore>(), {.policy = policy}); });
  }
}

TEST(ReentrantLockThreadsTest, ThreadsExcludeEachOtherOnRedis) {
  const rushgate::testing::RedisServer server;
  count_under_lock([&] { return *RedisBackend::open(*RedisOptions::from_url(server.url())); });
}

TEST(ReentrantLockThreadsTest, UniqueLockWorks) {
  const auto engine = *Engine::open(std::make_unique<MemoryStore>());
  LockManager manager(*engine);
  ReentrantLock lock(manager, "shop");
  {
    std::unique_lock held(lock);
    EXPECT_TRUE(lock.is_held());
    std::thread([&] {
      const std::unique_lock refused(lock, std::try_to_lock);
      EXPECT_FALSE(refused.owns_lock());
      const std::unique_lock late(lock, 1ms);
      EXPECT_FALSE(late.owns_lock());
    }).join();
    held.unlock();
    EXPECT_FALSE(lock.is_held());
    held.lock();
  }
  EXPECT_FALSE(lock.is_held());
}

TEST(ReentrantLockThreadsTest, FailedLockThrows) {
  auto engine = *Engine::open(std::make_unique<MemoryStore>());
  LockManager manager(*engine);
  ReentrantLock lock(manager, "shop");
  engine->close();
  EXPECT_THROW(lock.lock(), std::runtime_error);
  EXPECT_THROW(static_cast<void>(lock.try_lock()), std::runtime_error);
  lock.unlock();
}

}  // namespace
}  // namespace rushgate
