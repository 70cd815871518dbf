// The thread that frees a value, and the bound on values that wait for it.
#include "engine/redis/keyspace/lazy_free.h"

#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "engine/redis/keyspace/hashes.h"
#include "engine/redis/keyspace/keyspace.h"
#include "engine/redis/keyspace/lists.h"
#include "engine/redis/keyspace/sets.h"
#include "engine/redis/keyspace/sorted_sets.h"
#include "engine/redis/keyspace/streams.h"
#include "engine/redis/keyspace/strings.h"
#include "tests/support/null_store.h"

namespace rushgate {
namespace {

constexpr std::size_t kLarge = LazyFree::kBytesAtOnceMax + 1;

/// Calls a function when it is destroyed.
class Probe {
 public:
  explicit Probe(std::function<void()> freed) : freed_(std::move(freed)) {}
  ~Probe() { freed_(); }

 private:
  std::function<void()> freed_;
};
std::unique_ptr<Probe> probe(std::function<void()> freed) {
  return std::make_unique<Probe>(std::move(freed));
}

/// A value whose destructor blocks until let_go().
class SlowValue {
 public:
  std::unique_ptr<Probe> value() {
    return probe([this] {
      begun_.count_down();
      let_go_.wait();
    });
  }
  void wait_until_begun() { begun_.wait(); }
  void let_go() { let_go_.count_down(); }

 private:
  std::latch begun_{1};
  std::latch let_go_{1};
};

class LazyFreeTest : public ::testing::Test {
 protected:
  /// Frees a value and returns the id of the thread that did it.
  std::thread::id thread_for(std::size_t bytes) {
    std::thread::id thread;
    lazy_free_.free(probe([&] { thread = std::this_thread::get_id(); }), bytes);
    lazy_free_.stop();
    return thread;
  }

  LazyFree lazy_free_;
};

TEST_F(LazyFreeTest, SmallValueIsFreedAtOnce) {
  lazy_free_.use_thread();
  EXPECT_EQ(thread_for(LazyFree::kBytesAtOnceMax), std::this_thread::get_id());
  EXPECT_EQ(lazy_free_.counts().objects_at_once, 1U);
}

TEST_F(LazyFreeTest, LargeValueIsFreedOnThread) {
  lazy_free_.use_thread();
  const std::thread::id thread = thread_for(kLarge);
  EXPECT_NE(thread, std::thread::id());
  EXPECT_NE(thread, std::this_thread::get_id());
  EXPECT_EQ(lazy_free_.counts().objects_later, 1U);
  EXPECT_EQ(lazy_free_.counts().bytes_at_once, 0U);
}

TEST_F(LazyFreeTest, BatchFreesBoundedBytesAtOnce) {
  constexpr std::size_t kBytes = 10'000;
  constexpr std::size_t kAtOnce = LazyFree::kBytesAtOnceMax / kBytes;
  lazy_free_.use_thread();
  for (std::uint64_t batch = 1; batch <= 3; ++batch) {
    lazy_free_.begin_batch();
    for (int i = 0; i < 100; ++i) lazy_free_.free(probe([] {}), kBytes);
    EXPECT_EQ(lazy_free_.counts().objects_at_once, batch * kAtOnce);
  }
  lazy_free_.free(probe([] {}), LazyFree::kBytesSmallMax);
  EXPECT_EQ(lazy_free_.counts().objects_at_once, 3 * kAtOnce + 1);
  lazy_free_.stop();
  EXPECT_EQ(lazy_free_.counts().objects_later, 300 - 3 * kAtOnce);
}

TEST_F(LazyFreeTest, WithoutThreadAllIsFreedAtOnce) {
  EXPECT_EQ(thread_for(kLarge), std::this_thread::get_id());
}

TEST_F(LazyFreeTest, LargeValueWaitsBehindManyBytes) {
  lazy_free_.use_thread();
  SlowValue slow;
  lazy_free_.free(slow.value(), LazyFree::kBytesPendingMax);
  const std::thread::id own = std::this_thread::get_id();
  std::thread::id thread = own;
  lazy_free_.free(probe([&] { thread = std::this_thread::get_id(); }), kLarge);
  lazy_free_.end_batch();  // stops waiting
  EXPECT_EQ(lazy_free_.bytes_pending(), LazyFree::kBytesPendingMax + kLarge);
  EXPECT_EQ(lazy_free_.counts().objects_at_once, 0U);
  slow.let_go();
  lazy_free_.stop();
  EXPECT_NE(thread, own);
  EXPECT_EQ(lazy_free_.bytes_pending(), 0U);
}

TEST_F(LazyFreeTest, WaitIsBounded) {
  lazy_free_.use_thread();
  SlowValue slow;
  lazy_free_.free(slow.value(), kLarge);
  lazy_free_.free(probe([] {}), kLarge);
  EXPECT_TRUE(lazy_free_.wait_until_at_most(2 * kLarge));
  EXPECT_FALSE(lazy_free_.wait_until_at_most(kLarge));
  EXPECT_EQ(lazy_free_.counts().objects_at_once, 0U);
  slow.let_go();
  lazy_free_.stop();
  EXPECT_TRUE(lazy_free_.wait_until_at_most(0));
}

TEST_F(LazyFreeTest, FreedPartsAreCounted) {
  struct InParts {
    SlowValue& slow;
    void free_parts(LazyFree::FreedPart freed) const {
      freed(LazyFree::kBytesPortion);
      freed(1);  // less than a portion
      slow.value();
      freed(LazyFree::kBytesPortion);  // more than is pending
    }
  };
  lazy_free_.use_thread();
  SlowValue slow;
  lazy_free_.free(std::make_unique<InParts>(InParts{slow}), LazyFree::kBytesPortion + kLarge);
  slow.wait_until_begun();
  EXPECT_EQ(lazy_free_.bytes_pending(), kLarge);
  EXPECT_EQ(lazy_free_.counts().objects_pending, 1U);
  slow.let_go();
  lazy_free_.stop();
  EXPECT_EQ(lazy_free_.bytes_pending(), 0U);
  EXPECT_EQ(lazy_free_.counts().bytes_later, LazyFree::kBytesPortion + kLarge);
}

/// Removes one large value of each type in each way.
class LazyRemovalTest : public LazyFreeTest {
 protected:
  using Make = std::function<void(Database& db)>;

  LazyRemovalTest() { keyspace_.lazy_free().use_thread(); }

  static void make_string(Database& db) {
    strings::set(db, "k", StringValue(std::string_view(std::string(100'000, 'x'))));
  }
  static void make_hash(Database& db) {
    Object& hash = hashes::create(db, "k");
    for (int i = 0; i < 5'000; ++i) hashes::set(db, hash, "field" + std::to_string(i), "value");
  }
  static void make_set(Database& db) {
    Object& set = sets::create(db, "k");
    for (int i = 0; i < 5'000; ++i) sets::add(db, set, "member" + std::to_string(i));
  }
  static void make_sorted_set(Database& db) {
    Object& set = sorted_sets::create(db, "k");
    for (int i = 0; i < 5'000; ++i) sorted_sets::set(db, set, "member" + std::to_string(i), i);
  }
  static void make_list(Database& db) {
    Object& list = lists::create(db, "k");
    const std::string element(100, 'x');
    for (int i = 0; i < 5'000; ++i) lists::push(db, list, lists::End::kTail, element);
  }
  static void make_stream(Database& db) {
    Object& stream = streams::create(db, "k");
    StreamGroup& group = streams::create_group(db, stream, "g", {}, 0);
    StreamConsumer& consumer = streams::create_consumer(db, stream, group, "c");
    PendingEntry pending;
    pending.consumer = &consumer;
    for (std::uint64_t i = 1; i <= 5'000; ++i) {
      streams::assign_pending(db, stream, group, {i, 0}, pending);
    }
  }

  void commit() { ASSERT_TRUE(keyspace_.commit().ok()); }
  /// Creates a large value with `make` and removes it with `remove`. Expects it to be freed later.
  void expect_freed_later(const Make& make, const std::function<void(Database& db)>& remove) {
    keyspace_.remove_all();
    make(keyspace_.db(0));
    commit();
    const LazyFree::Counts before = keyspace_.lazy_free().counts();
    remove(keyspace_.db(0));
    EXPECT_EQ(keyspace_.lazy_free().counts().objects_pending, 0U)
        << "a rollback may still restore it";
    commit();
    keyspace_.lazy_free().stop();
    const LazyFree::Counts after = keyspace_.lazy_free().counts();
    EXPECT_EQ(after.objects_later - before.objects_later, 1U);
    EXPECT_LT(after.bytes_at_once - before.bytes_at_once, LazyFree::kBytesAtOnceMax);
    EXPECT_EQ(after.objects_pending, 0U);
    keyspace_.lazy_free().use_thread();
  }

  NullStore store_;
  Keyspace keyspace_{store_, 1};
};

TEST_F(LazyRemovalTest, LargeValueOfAnyTypeIsFreedLater) {
  for (const auto make :
       {make_string, make_hash, make_set, make_sorted_set, make_list, make_stream}) {
    expect_freed_later(make, [](Database& db) { db.remove(*db.find("k")); });
  }
}

TEST_F(LazyRemovalTest, OverwrittenStringIsFreedLater) {
  expect_freed_later(make_string, [](Database& db) { strings::set(db, "k", StringValue(1)); });
  expect_freed_later(make_hash, [](Database& db) { strings::set(db, "k", StringValue(1)); });
}

TEST_F(LazyRemovalTest, ExpiredValueIsFreedLater) {
  expect_freed_later(make_set, [](Database& db) {
    db.set_expiry(*db.find("k"), 1);
    db.keyspace().set_now_ms(2);
    EXPECT_EQ(db.keyspace().remove_expired(1), 1U);
  });
}

TEST_F(LazyRemovalTest, DestroyedStreamGroupIsFreedLater) {
  expect_freed_later(make_stream, [](Database& db) {
    Object& stream = *db.find("k");
    streams::destroy_group(db, stream, *stream.stream().groups().find("g"));
  });
}

TEST_F(LazyRemovalTest, ManyValuesOfOneBatchAreFreedLater) {
  Database& db = keyspace_.db(0);
  constexpr std::size_t kValues = 100;
  for (std::size_t i = 0; i < kValues; ++i) {
    strings::set(db, std::to_string(i), StringValue(std::string_view(std::string(10'000, 'x'))));
  }
  commit();
  for (std::size_t i = 0; i < kValues; ++i) db.remove(*db.find(std::to_string(i)));
  commit();
  keyspace_.lazy_free().stop();
  const LazyFree::Counts counts = keyspace_.lazy_free().counts();
  EXPECT_EQ(counts.objects_at_once + counts.objects_later, kValues);
  EXPECT_LE(counts.bytes_at_once, LazyFree::kBytesAtOnceMax);
}

TEST_F(LazyRemovalTest, FlushedDatabaseIsFreedLater) {
  expect_freed_later(make_list, [](Database& db) { db.remove_all(); });
}

TEST_F(LazyRemovalTest, RemovalWaitsBehindManyPendingBytes) {
  SlowValue slow;
  keyspace_.lazy_free().free(slow.value(), LazyFree::kBytesPendingMax);
  for (const bool is_flush : {false, true}) {
    make_hash(keyspace_.db(0));
    commit();
    const std::uint64_t at_once = keyspace_.lazy_free().counts().bytes_at_once;
    is_flush ? keyspace_.remove_all() : keyspace_.db(0).remove(*keyspace_.db(0).find("k"));
    commit();
    const LazyFree::Counts counts = keyspace_.lazy_free().counts();
    EXPECT_LT(counts.bytes_at_once - at_once, LazyFree::kBytesAtOnceMax);
    EXPECT_EQ(counts.objects_pending, is_flush ? 3U : 2U);
  }
  slow.let_go();
  keyspace_.lazy_free().stop();
}

TEST_F(LazyRemovalTest, UndoneCreationIsFreedLater) {
  make_hash(keyspace_.db(0));
  keyspace_.changes().roll_back_to({});
  keyspace_.lazy_free().stop();
  EXPECT_EQ(keyspace_.lazy_free().counts().objects_later, 1U);
}

TEST_F(LazyRemovalTest, UndoneRemovalFreesNothing) {
  make_hash(keyspace_.db(0));
  commit();
  keyspace_.db(0).remove(*keyspace_.db(0).find("k"));
  keyspace_.changes().roll_back_to({});
  keyspace_.lazy_free().stop();
  EXPECT_EQ(keyspace_.lazy_free().counts().objects_later, 0U);
  EXPECT_EQ(keyspace_.db(0).find("k")->hash().size(), 5'000U);
}

TEST_F(LazyRemovalTest, PendingBytesCountAsUsedMemory) {
  make_string(keyspace_.db(0));
  commit();
  const std::size_t before = keyspace_.memory_bytes();
  SlowValue slow;
  keyspace_.lazy_free().free(slow.value(), kLarge);
  EXPECT_EQ(keyspace_.memory_bytes(), before + kLarge);
  EXPECT_TRUE(keyspace_.needs_more_than(before - 1)) << "more than the pending bytes is needed";
  EXPECT_TRUE(keyspace_.needs_more_than(before)) << "the wait for the thread is bounded";
  slow.let_go();
  keyspace_.lazy_free().stop();
  EXPECT_FALSE(keyspace_.needs_more_than(before));
  EXPECT_EQ(keyspace_.memory_bytes(), before);
}

}  // namespace
}  // namespace rushgate
