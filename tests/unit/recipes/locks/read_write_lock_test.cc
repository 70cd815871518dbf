#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <shared_mutex>
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

constexpr char kReadWriteChannel[] = "redisson_rwlock:{shop}";
constexpr char kFirstRead[] = "{shop}:jvm-1:1:rwlock_timeout:1";
constexpr char kSecondRead[] = "{shop}:jvm-1:1:rwlock_timeout:2";
constexpr char kOtherRead[] = "{shop}:jvm-2:1:rwlock_timeout:1";

class ReadWriteLockTest : public RecipeTest {
 protected:
  static bool try_one(const ReentrantLock& lock, std::uint64_t owner = 1,
                      std::int64_t lease_ms = ReentrantLock::kWatchdog) {
    return *begin(lock, owner, 0, lease_ms).result();
  }
  /// Starts to wait. Returns when the process has subscribed.
  PendingLock wait_for(const ReentrantLock& lock, std::uint64_t owner) {
    PendingLock pending = begin(lock, owner);
    while ((*client_)("PUBSUB", "NUMSUB", kReadWriteChannel).elements()[1] == Reply::integer(0)) {
    }
    return pending;
  }
  Reply field(const char* name) { return (*client_)("HGET", "shop", name); }
  std::int64_t left_ms(const char* key) { return (*client_)("PTTL", key).integer(); }
  std::size_t keys() { return (*client_)("KEYS", "*").elements().size(); }

  LockManager manager_{*backend_, {.client_id = "jvm-1"}};
  LockManager other_manager_{*backend_, {.client_id = "jvm-2"}};
  ReadWriteLock lock_{manager_, "shop"};
  ReadWriteLock other_{other_manager_, "shop"};
  ReentrantLock& read_ = lock_.read_lock();
  ReentrantLock& write_ = lock_.write_lock();
  ReentrantLock& other_read_ = other_.read_lock();
  ReentrantLock& other_write_ = other_.write_lock();
};
INSTANTIATE_TEST_SUITE_P(Backends, ReadWriteLockTest, all_recipe_kinds(), recipe_name);

/// Timers and leases use a clock that the test moves.
class ReadWriteLockInManualTimeTest : public ReadWriteLockTest {};
INSTANTIATE_TEST_SUITE_P(Backends, ReadWriteLockInManualTimeTest, manual_time_recipe_kinds(),
                         recipe_name);

/// Uses connections whose replies can be lost.
class ReadWriteLockOnRedisTest : public ReadWriteLockTest {};
INSTANTIATE_TEST_SUITE_P(Backends, ReadWriteLockOnRedisTest, ::testing::Values(RecipeKind::kRedis),
                         recipe_name);

// ---- Owners and keys ----

TEST_P(ReadWriteLockTest, ReadersShareAndWritersExclude) {
  EXPECT_TRUE(try_one(read_, 1));
  EXPECT_TRUE(try_one(read_, 2));
  EXPECT_TRUE(try_one(other_read_, 1));
  EXPECT_FALSE(try_one(other_write_, 3));
  EXPECT_TRUE(read_.release_of(1).ok() && read_.release_of(2).ok());
  EXPECT_FALSE(try_one(write_, 1)) << "a reader is left";
  EXPECT_TRUE(other_read_.release_of(1).ok());
  EXPECT_TRUE(try_one(write_, 1));
  EXPECT_FALSE(try_one(read_, 2));
  EXPECT_FALSE(try_one(other_read_, 1));
  EXPECT_FALSE(try_one(other_write_, 1));
  EXPECT_TRUE(write_.release_of(1).ok());
  EXPECT_TRUE(try_one(other_read_, 1));
}

TEST_P(ReadWriteLockTest, KeysOfReadersAreRedissons) {
  ASSERT_TRUE(try_one(read_));
  ASSERT_TRUE(try_one(read_, 1, 60'000));
  ASSERT_TRUE(try_one(other_read_));
  EXPECT_EQ(field("mode"), Reply::bulk("read"));
  EXPECT_EQ(field("jvm-1:1"), Reply::bulk("2"));
  EXPECT_EQ(field("jvm-2:1"), Reply::bulk("1"));
  EXPECT_EQ(keys(), 4U);
  EXPECT_EQ((*client_)("GET", kFirstRead), Reply::bulk("1"));
  EXPECT_LE(left_ms(kFirstRead), 30'000);
  EXPECT_GT(left_ms(kSecondRead), 30'000);
  EXPECT_GT(left_ms(kOtherRead), 20'000);
  EXPECT_GT(left_ms("shop"), 30'000) << "as long as the longest hold";
  EXPECT_TRUE(read_.release_of(1).ok());
  EXPECT_EQ((*client_)("EXISTS", kFirstRead, kSecondRead), Reply::integer(1));
  EXPECT_TRUE(read_.release_of(1).ok());
  EXPECT_TRUE(other_read_.release_of(1).ok());
  EXPECT_EQ(keys(), 0U) << "no latch stays";
}

TEST_P(ReadWriteLockTest, KeysOfWriterAreRedissons) {
  ASSERT_TRUE(try_one(write_));
  ASSERT_TRUE(try_one(write_));
  EXPECT_EQ((*client_)("HLEN", "shop"), Reply::integer(2));
  EXPECT_EQ(field("mode"), Reply::bulk("write"));
  EXPECT_EQ(field("jvm-1:1:write"), Reply::bulk("2"));
  EXPECT_GT(left_ms("shop"), 20'000);
  EXPECT_TRUE(write_.release_of(1).ok());
  EXPECT_TRUE(write_.is_held_by(1));
  EXPECT_TRUE(write_.release_of(1).ok());
  EXPECT_FALSE(write_.is_held_by(1));
  EXPECT_EQ(keys(), 0U);
}

TEST_P(ReadWriteLockTest, ReleasesPublishRedissonsMessages) {
  std::promise<void> last;
  std::vector<std::string> messages;
  const auto subscriber = backend_->open_client({.on_message = [&](const Reply& message) {
    messages.push_back(message.elements()[2].text());
    if (messages.size() == 2) last.set_value();
  }});
  (*subscriber)("SUBSCRIBE", kReadWriteChannel);
  ASSERT_TRUE(try_one(read_) && try_one(other_read_));
  ASSERT_TRUE(read_.release_of(1).ok() && other_read_.release_of(1).ok());
  ASSERT_TRUE(try_one(write_));
  ASSERT_TRUE(write_.release_of(1).ok());
  last.get_future().wait();
  EXPECT_EQ(messages, (std::vector<std::string>{"0", "1"}));
}

TEST_P(ReadWriteLockTest, ReadingWriterKeepsReadLock) {
  ASSERT_TRUE(try_one(write_));
  ASSERT_TRUE(try_one(read_));
  EXPECT_FALSE(try_one(read_, 2));
  EXPECT_TRUE(write_.release_of(1).ok());
  EXPECT_EQ(field("mode"), Reply::bulk("read"));
  EXPECT_TRUE(read_.is_held_by(1));
  EXPECT_FALSE(write_.is_held_by(1));
  EXPECT_TRUE(try_one(other_read_));
  EXPECT_FALSE(try_one(other_write_, 2));
  EXPECT_TRUE(read_.release_of(1).ok());
  EXPECT_TRUE(other_read_.release_of(1).ok());
  EXPECT_EQ(keys(), 0U);
}

TEST_P(ReadWriteLockTest, ReadingWriterMayReleaseReadFirst) {
  ASSERT_TRUE(try_one(write_, 1, 60'000));
  ASSERT_TRUE(try_one(read_, 1, 5'000));
  ASSERT_TRUE(try_one(read_, 1, 5'000));
  EXPECT_TRUE(read_.release_of(1).ok());
  EXPECT_TRUE(read_.release_of(1).ok());
  EXPECT_GT(left_ms("shop"), 30'000) << "the writer's lease";
  EXPECT_FALSE(try_one(other_read_));
  EXPECT_TRUE(write_.release_of(1).ok());
  EXPECT_TRUE(try_one(other_write_));
}

TEST_P(ReadWriteLockTest, ReaderCannotWrite) {
  ASSERT_TRUE(try_one(read_));
  EXPECT_FALSE(try_one(write_));
  EXPECT_TRUE(read_.is_held_by(1));
  EXPECT_TRUE(read_.release_of(1).ok());
  EXPECT_TRUE(try_one(write_));
}

TEST_P(ReadWriteLockTest, ReleaseWithoutHoldIsError) {
  EXPECT_TRUE(absl::IsFailedPrecondition(read_.release_of(1)));
  ASSERT_TRUE(try_one(read_));
  EXPECT_TRUE(absl::IsFailedPrecondition(write_.release_of(1)));
  EXPECT_TRUE(absl::IsFailedPrecondition(read_.release_of(2)));
  EXPECT_TRUE(absl::IsFailedPrecondition(other_read_.release_of(1)));
  EXPECT_EQ(field("jvm-1:1"), Reply::bulk("1"));
}

/// Sends the requests of RReadWriteLock as commands.
TEST_P(ReadWriteLockTest, LocksOfJvmAreRespectedAndAwaited) {
  (*client_)("HSET", "shop", "mode", "read", "jvm-9:1", 1);
  (*client_)("SET", "{shop}:jvm-9:1:rwlock_timeout:1", 1, "PX", 30'000);
  (*client_)("PEXPIRE", "shop", 30'000);
  EXPECT_TRUE(try_one(read_));
  const PendingLock writer = wait_for(write_, 2);
  EXPECT_TRUE(read_.release_of(1).ok());
  EXPECT_FALSE(writer.is_done());
  (*client_)("DEL", "shop", "{shop}:jvm-9:1:rwlock_timeout:1");
  (*client_)("PUBLISH", kReadWriteChannel, "0");
  EXPECT_TRUE(*writer.result());
  EXPECT_TRUE(write_.release_of(2).ok());

  (*client_)("HSET", "shop", "mode", "write", "jvm-9:1:write", 1);
  (*client_)("PEXPIRE", "shop", 30'000);
  const PendingLock first = wait_for(read_, 1);
  const PendingLock second = wait_for(read_, 2);
  EXPECT_FALSE(first.is_done() || second.is_done());
  (*client_)("DEL", "shop");
  (*client_)("PUBLISH", kReadWriteChannel, "1");
  EXPECT_TRUE(*first.result() && *second.result());
}

// ---- Leases ----

/// The classic way counts readers. A crashed reader never decrements the counter.
TEST_P(ReadWriteLockInManualTimeTest, DeadReaderKeepsNoWriterOut) {
  (*client_)("INCR", "readers");
  auto crashed = std::make_unique<LockManager>(*backend_);
  ASSERT_TRUE(try_one(ReadWriteLock(*crashed, "shop").read_lock()));
  ASSERT_TRUE(try_one(read_));
  crashed.reset();
  advance_ms(600'000);
  EXPECT_FALSE(try_one(other_write_)) << "a reader lives";
  EXPECT_TRUE(read_.release_of(1).ok());
  EXPECT_TRUE(try_one(other_write_)) << "at once: renewals of others do not extend the dead one's";
  EXPECT_EQ((*client_)("GET", "readers"), Reply::bulk("1")) << "the wrong way";
}

/// The classic way has one expiry for all readers, and each of them sets it.
TEST_P(ReadWriteLockInManualTimeTest, ShorterLeaseSparesOtherReaders) {
  ASSERT_TRUE(try_one(read_, 1, 90'000));
  ASSERT_TRUE(try_one(other_read_, 1));  // 30 s, renewed
  ASSERT_TRUE(try_one(other_read_, 2, 5'000));
  (*client_)("SET", "one-expiry", 2, "PX", 90'000);
  (*client_)("PEXPIRE", "one-expiry", 5'000);
  advance_ms(40'000);
  EXPECT_EQ((*client_)("EXISTS", "one-expiry"), Reply::integer(0)) << "the wrong way";
  EXPECT_TRUE(other_read_.release_of(1).ok());
  advance_ms(49'999);
  EXPECT_TRUE(read_.is_held_by(1));
  EXPECT_FALSE(try_one(other_write_));
  advance_ms(1);
  EXPECT_FALSE(read_.is_held_by(1));
  EXPECT_TRUE(try_one(other_write_));
}

TEST_P(ReadWriteLockInManualTimeTest, LockEndsWithItsHolds) {
  ASSERT_TRUE(try_one(read_, 1, 90'000));
  ASSERT_TRUE(try_one(other_read_, 1, 5'000));
  EXPECT_EQ(left_ms("shop"), 90'000);
  EXPECT_TRUE(read_.release_of(1).ok());
  EXPECT_EQ(left_ms("shop"), 5'000);
  ASSERT_TRUE(try_one(read_, 1, 90'000));
  advance_ms(5'000);
  EXPECT_TRUE(read_.release_of(1).ok());
  EXPECT_TRUE(try_one(write_)) << "the other reader's lease has ended";
}

/// The writer's lease is longer than that of its read lock.
TEST_P(ReadWriteLockInManualTimeTest, KeptReadLockHasOwnLease) {
  ASSERT_TRUE(try_one(write_, 1, 90'000));
  ASSERT_TRUE(try_one(read_, 1, 5'000));
  EXPECT_TRUE(write_.release_of(1).ok());
  EXPECT_EQ(left_ms("shop"), 5'000);
  EXPECT_TRUE(read_.release_of(1).ok());
  ASSERT_TRUE(try_one(write_, 1, 90'000));
  ASSERT_TRUE(try_one(read_, 1, 5'000));
  advance_ms(5'000);
  EXPECT_TRUE(write_.release_of(1).ok());
  EXPECT_EQ(keys(), 0U) << "the read lock's lease has ended";
  EXPECT_FALSE(read_.is_held_by(1));
}

TEST_P(ReadWriteLockInManualTimeTest, RemainingHoldsGetNewLease) {
  ASSERT_TRUE(try_one(read_, 1, 5'000));
  ASSERT_TRUE(try_one(read_, 1, 60'000));
  EXPECT_TRUE(read_.release_of(1).ok());
  advance_ms(59'999);
  EXPECT_TRUE(read_.is_held_by(1));
  EXPECT_FALSE(try_one(other_write_));
  advance_ms(1);
  EXPECT_TRUE(try_one(other_write_));
}

TEST_P(ReadWriteLockInManualTimeTest, WatchdogRenewsBothSides) {
  for (ReentrantLock* const side : {&read_, &write_}) {
    ASSERT_TRUE(try_one(*side));
    advance_ms(600'000);
    EXPECT_TRUE(side->is_held_by(1));
    EXPECT_GE(left_ms("shop"), 20'000);
    EXPECT_FALSE(try_one(other_write_));
    EXPECT_TRUE(side->release_of(1).ok());
    EXPECT_EQ(keys(), 0U);
  }
  ASSERT_TRUE(try_one(write_) && try_one(read_));
  advance_ms(600'000);
  EXPECT_TRUE(write_.release_of(1).ok());
  advance_ms(600'000);
  EXPECT_TRUE(read_.is_held_by(1)) << "the kept read lock is renewed";
  EXPECT_GE(left_ms(kFirstRead), 20'000);
}

TEST_P(ReadWriteLockInManualTimeTest, RenewalEndsWithRelease) {
  std::atomic<int> requests = 0;
  HookedBackend hooked(*backend_, {.before = [&](const Request&) { ++requests; }});
  LockManager manager(hooked);
  ReadWriteLock lock(manager, "shop");
  for (ReentrantLock* const side : {&lock.read_lock(), &lock.write_lock()}) {
    ASSERT_TRUE(try_one(*side) && try_one(*side));
    ASSERT_TRUE(side->release_of(1).ok());
    advance_ms(100'000);
    EXPECT_TRUE(side->is_held_by(1)) << "one hold is left";
    ASSERT_TRUE(side->release_of(1).ok());
    requests = 0;
    advance_ms(100'000);
    EXPECT_EQ(requests, 0);
  }
}

TEST_P(ReadWriteLockInManualTimeTest, LostHoldIsReportedOnce) {
  std::vector<std::uint64_t> lost;
  LockManager manager(*backend_, {.on_lost = [&](const std::string& name, std::uint64_t owner) {
    EXPECT_EQ(name, "shop");
    lost.push_back(owner);
  }});
  ReadWriteLock lock(manager, "shop");
  ASSERT_TRUE(try_one(lock.read_lock(), 7));
  ASSERT_TRUE(try_one(lock.read_lock(), 8, 5'000));
  advance_ms(5'000);
  EXPECT_EQ(lost, std::vector<std::uint64_t>{8}) << "its lease has ended";
  (*client_)("FLUSHALL");
  ASSERT_TRUE(try_one(other_write_));
  advance_ms(100'000);
  EXPECT_EQ(lost, (std::vector<std::uint64_t>{8, 7}));
  EXPECT_FALSE(lock.read_lock().is_held_by(7));
  EXPECT_TRUE(absl::IsFailedPrecondition(lock.read_lock().release_of(7)));
  EXPECT_TRUE(other_write_.is_held_by(1));
}

TEST_P(ReadWriteLockInManualTimeTest, LeaseCanBeSet) {
  ASSERT_TRUE(read_.acquire().ok());
  ASSERT_TRUE(read_.set_lease(90'000).ok());
  EXPECT_EQ(left_ms("shop"), 90'000);
  ASSERT_TRUE(read_.set_lease(2'000).ok());
  EXPECT_EQ(left_ms("shop"), 2'000);
  advance_ms(2'000);
  ASSERT_TRUE(write_.acquire().ok());
  ASSERT_TRUE(write_.set_lease(1'000).ok());
  advance_ms(1'000);
  EXPECT_TRUE(try_one(other_write_));
}

/// A JVM with a short watchdog renews its read lock, and the leases of all readers with it.
TEST_P(ReadWriteLockInManualTimeTest, HoldIsCertainDespiteJvmsRenewal) {
  bool fails = false;
  FaultyBackend lossy(*backend_, [&](const Request& request) {
    return fails && request[0] == "EVAL" ? Fault::kRequestLost : Fault::kNone;
  });
  LockManager manager(lossy, {.client_id = "jvm-1", .watchdog_lease_ms = 3'000});
  ReentrantLock read = ReadWriteLock(manager, "shop").read_lock();
  const auto renew_as_jvm = [&] {
    (*client_)("HSET", "shop", "jvm-9:1", 1);
    (*client_)("PEXPIRE", "shop", 3'000);
    (*client_)("PEXPIRE", kFirstRead, 3'000);
  };
  ASSERT_TRUE(try_one(read, 1, 20'000));
  renew_as_jvm();
  advance_ms(19'999);
  EXPECT_TRUE(read.is_held_by(1)) << "its own lease is set again";
  EXPECT_FALSE(try_one(other_write_));
  advance_ms(1);
  EXPECT_FALSE(read.is_held_by(1));

  (*client_)("FLUSHALL");
  ASSERT_TRUE(try_one(read, 1, 20'000));
  renew_as_jvm();
  fails = true;
  advance_ms(2'999);
  EXPECT_TRUE(read.is_held_by(1));
  EXPECT_FALSE(try_one(other_write_));
  advance_ms(1);
  EXPECT_TRUE(try_one(other_write_));
  EXPECT_FALSE(read.is_held_by(1)) << "certain only until the JVM's lease may end";
}

// ---- Waiting ----

TEST_P(ReadWriteLockTest, WritersReleaseWakesAllReaders) {
  ASSERT_TRUE(try_one(other_write_));
  std::vector<PendingLock> readers;
  for (std::uint64_t owner = 1; owner <= 4; ++owner) readers.push_back(wait_for(read_, owner));
  EXPECT_FALSE(readers.front().is_done());
  ASSERT_TRUE(other_write_.release_of(1).ok());
  for (const PendingLock& reader : readers) EXPECT_TRUE(*reader.result());
}

/// RReadWriteLock's readers wait until the lease of the kept lock expires.
TEST_P(ReadWriteLockTest, DowngradedWriterWakesReaders) {
  ASSERT_TRUE(try_one(other_write_, 1, 600'000));
  ASSERT_TRUE(try_one(other_read_, 1, 600'000));
  const PendingLock first = wait_for(read_, 1);
  const PendingLock second = wait_for(read_, 2);
  ASSERT_TRUE(other_write_.release_of(1).ok());
  EXPECT_TRUE(*first.result() && *second.result());
}

/// A JVM that writes and goes on as a reader sends no message.
TEST_P(ReadWriteLockInManualTimeTest, DowngradeOfJvmIsSeenSoon) {
  (*client_)("HSET", "shop", "mode", "write", "jvm-9:1:write", 1);
  (*client_)("PEXPIRE", "shop", 30'000);
  const PendingLock reader = wait_for(read_, 1);
  (*client_)("HSET", "shop", "mode", "read", "jvm-9:1", 1);
  (*client_)("SET", "{shop}:jvm-9:1:rwlock_timeout:1", 1, "PX", 30'000);
  (*client_)("HDEL", "shop", "jvm-9:1:write");
  EXPECT_FALSE(reader.is_done());
  advance_ms(1'000);
  EXPECT_TRUE(reader.is_done());
}

TEST_P(ReadWriteLockTest, LastReadersReleaseWakesWriter) {
  ASSERT_TRUE(try_one(other_read_, 1, 600'000));
  ASSERT_TRUE(try_one(other_read_, 2, 600'000));
  const PendingLock writer = wait_for(write_, 1);
  ASSERT_TRUE(other_read_.release_of(1).ok());
  EXPECT_FALSE(writer.is_done());
  ASSERT_TRUE(other_read_.release_of(2).ok());
  EXPECT_TRUE(*writer.result());
}

TEST_P(ReadWriteLockTest, MessageWakesReadersBehindWriterToo) {
  ASSERT_TRUE(try_one(other_write_, 1, 600'000));
  const PendingLock first = wait_for(read_, 1);
  const PendingLock writer = wait_for(write_, 2);
  const PendingLock second = wait_for(read_, 3);
  ASSERT_TRUE(other_write_.release_of(1).ok());
  EXPECT_TRUE(*first.result() && *second.result());
  EXPECT_FALSE(writer.is_done());
  ASSERT_TRUE(read_.release_of(1).ok() && read_.release_of(3).ok());
  EXPECT_TRUE(*writer.result());
}

TEST_P(ReadWriteLockTest, MixedWaitersAreAllServed) {
  constexpr std::uint64_t kEach = 3;
  ASSERT_TRUE(try_one(other_write_, 1, 600'000));
  struct Waiter {
    ReentrantLock lock;
    std::uint64_t owner;
    PendingLock pending;
  };
  std::vector<Waiter> waiters;
  for (std::uint64_t owner = 1; owner <= kEach; ++owner) {
    waiters.push_back({write_, owner, begin(write_, owner, ReentrantLock::kForever, 600'000)});
    waiters.push_back(
        {read_, kEach + owner, begin(read_, kEach + owner, ReentrantLock::kForever, 600'000)});
  }
  ASSERT_TRUE(other_write_.release_of(1).ok());
  while (!waiters.empty()) {
    std::erase_if(waiters, [](Waiter& waiter) {
      if (!waiter.pending.is_done()) return false;
      EXPECT_TRUE(*waiter.pending.result());
      EXPECT_TRUE(waiter.lock.release_of(waiter.owner).ok());
      return true;
    });
  }
}

/// A reader tries after 1 s, 2 s, 4 s … 256 s: a JVM may send no message.
TEST_P(ReadWriteLockInManualTimeTest, WaitingSendsFewRequests) {
  std::atomic<int> requests = 0;
  HookedBackend hooked(*backend_, {.before = [&](const Request&) { ++requests; }});
  LockManager manager(hooked);
  ReadWriteLock lock(manager, "shop");
  ASSERT_TRUE(try_one(other_write_, 1, 600'000));
  const PendingLock reader = begin(lock.read_lock(), 1);
  const PendingLock writer = begin(lock.write_lock(), 2);
  const int begun = requests;
  advance_ms(500'000);
  EXPECT_EQ(requests, begun + 9);
  ASSERT_TRUE(other_write_.release_of(1).ok());
  EXPECT_TRUE(reader.is_done() || writer.is_done());
}

TEST_P(ReadWriteLockInManualTimeTest, ExpiredLeasesWakeWaiters) {
  ASSERT_TRUE(try_one(other_read_, 1, 5'000));
  ASSERT_TRUE(try_one(other_read_, 2, 8'000));
  const PendingLock writer = begin(write_, 1, ReentrantLock::kForever, 5'000);
  const PendingLock late = begin(write_, 2, 1'000);
  advance_ms(7'999);
  EXPECT_FALSE(*late.result());
  EXPECT_FALSE(writer.is_done());
  advance_ms(1);
  EXPECT_TRUE(*writer.result());
  const PendingLock reader = begin(other_read_, 1);
  EXPECT_FALSE(reader.is_done());
  advance_ms(5'000);
  EXPECT_TRUE(*reader.result());
}

// ---- Lost replies ----

/// Without the latch, the second attempt would release a hold that the first one left.
TEST_P(ReadWriteLockOnRedisTest, ReleaseIsIdempotentUnderRetry) {
  int losses = 0;
  std::string sha1;
  FaultyBackend lossy(*backend_, [&](const Request& request) {
    const bool is_lost = request[0] == "EVALSHA" && request[1] == sha1 && losses > 0;
    if (!is_lost) return Fault::kNone;
    --losses;
    return Fault::kReplyLost;
  });
  LockManager manager(lossy, {.client_id = "jvm-3"});
  ReadWriteLock lock(manager, "shop");
  for (const LockKind kind : {LockKind::kRead, LockKind::kWrite}) {
    const bool reads = kind == LockKind::kRead;
    ReentrantLock& side = reads ? lock.read_lock() : lock.write_lock();
    sha1 = scripts_of(kind).release.sha1();
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(try_one(side));
    ASSERT_TRUE(side.release_of(1).ok());  // loads the script
    losses = 2;
    EXPECT_TRUE(side.release_of(1).ok());
    EXPECT_EQ(losses, 0);
    EXPECT_EQ(field(reads ? "jvm-3:1" : "jvm-3:1:write"), Reply::bulk("1"));
    EXPECT_TRUE(side.release_of(1).ok());
    EXPECT_EQ(keys(), 0U);
  }
}

TEST_P(ReadWriteLockTest, ReadWithLostReplyIsReleased) {
  bool loses = true;
  FaultyBackend lossy(*backend_, [&](const Request& request) {
    const bool is_lost = request[0] == "EVAL" && std::exchange(loses, false);
    return is_lost ? Fault::kReplyLost : Fault::kNone;
  });
  LockManager manager(lossy);
  ReadWriteLock lock(manager, "shop");
  EXPECT_TRUE(absl::IsUnavailable(begin(lock.read_lock(), 1, 0).result().status()));
  ASSERT_TRUE(try_one(lock.read_lock()));
  EXPECT_TRUE(lock.read_lock().release_of(1).ok());
  EXPECT_EQ(keys(), 0U);
}

// ---- Threads ----

/// Runs two managers, as two processes, with a writer and readers in each. Only the lock guards the
/// pair.
template <class Open>
void read_and_write_under_lock(const Open& open) {
  constexpr int kReaders = 2;
  constexpr int kEach = 40;
  const std::unique_ptr<Backend> backend = open();
  LockManager first(*backend);
  LockManager second(*backend);
  volatile int left = 0;
  volatile int right = 0;
  std::vector<std::thread> threads;
  for (LockManager* const manager : {&first, &second}) {
    threads.emplace_back([&, manager] {
      ReadWriteLock lock(*manager, "pair");
      for (int n = 0; n < kEach; ++n) {
        const std::unique_lock held(lock);
        left = left + 1;
        std::this_thread::yield();
        right = right + 1;
      }
    });
    for (int reader = 0; reader < kReaders; ++reader) {
      threads.emplace_back([&, manager] {
        ReadWriteLock lock(*manager, "pair");
        for (int n = 0; n < kEach; ++n) {
          const std::shared_lock held(lock);
          EXPECT_EQ(left, right);
        }
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(left, 2 * kEach);
}

TEST(ReadWriteLockThreadsTest, ReadersSeeWholeWritesOnEngine) {
  read_and_write_under_lock([] { return *Engine::open(std::make_unique<MemoryStore>()); });
}

TEST(ReadWriteLockThreadsTest, ReadersSeeWholeWritesOnRedis) {
  const rushgate::testing::RedisServer server;
  read_and_write_under_lock(
      [&] { return *RedisBackend::open(*RedisOptions::from_url(server.url())); });
}

TEST(ReadWriteLockThreadsTest, SharedLockAndUniqueLockWork) {
  const auto engine = *Engine::open(std::make_unique<MemoryStore>());
  LockManager manager(*engine);
  ReadWriteLock lock(manager, "shop");
  {
    const std::shared_lock reading(lock);
    std::thread([&] {
      const std::shared_lock also_reading(lock, 1ms);
      EXPECT_TRUE(also_reading.owns_lock());
      const std::unique_lock writing(lock, std::try_to_lock);
      EXPECT_FALSE(writing.owns_lock());
    }).join();
  }
  const std::unique_lock writing(lock, 1ms);
  EXPECT_TRUE(writing.owns_lock());
  std::thread([&] {
    const std::shared_lock reading(lock, std::try_to_lock);
    EXPECT_FALSE(reading.owns_lock());
    const std::unique_lock late(lock, 1ms);
    EXPECT_FALSE(late.owns_lock());
  }).join();
}

}  // namespace
}  // namespace rushgate
