// Compares the keyspace's count of its bytes with the allocator's.
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/redis/keyspace/hashes.h"
#include "engine/redis/keyspace/keyspace.h"
#include "engine/redis/keyspace/lists.h"
#include "engine/redis/keyspace/sets.h"
#include "engine/redis/keyspace/sorted_sets.h"
#include "engine/redis/keyspace/streams.h"
#include "engine/redis/keyspace/strings.h"
#include "tests/support/null_store.h"
#include "tests/unit/heap/counted_heap.h"

namespace rushgate {
namespace {

class MemoryCountTest : public ::testing::Test {
 protected:
  using Fill = std::function<void(Database&)>;

  /// Returns the counted share of the heap that `fill` allocates.
  double share(const Fill& fill) {
    fill_and_commit(fill);  // once before, so that buffers of a batch exist
    keyspace_.remove_all();
    EXPECT_TRUE(keyspace_.commit().ok());
    const std::size_t held_before = heap_bytes_held();
    const std::size_t counted_before = keyspace_.memory_bytes();
    fill_and_commit(fill);
    const std::size_t held = heap_bytes_held() - held_before;
    const std::size_t counted = keyspace_.memory_bytes() - counted_before;
    const double share = static_cast<double>(counted) / static_cast<double>(held);
    RecordProperty("counted", std::to_string(counted));
    RecordProperty("held", std::to_string(held));
    return share;
  }

  /// Returns a fill of `times` steps that commits after every 1,000.
  static Fill often(int times, std::function<void(Database&, int)> step) {
    return [times, step = std::move(step)](Database& db) {
      for (int i = 0; i < times; ++i) {
        step(db, i);
        if (i % 1'000 != 999) continue;
        EXPECT_TRUE(db.keyspace().commit().ok());
      }
    };
  }

  static std::string text(int i) {
    return std::string(static_cast<std::size_t>(i % 90), 'x') + std::to_string(i);
  }

  static Object& object(Database& db, std::string_view key,
                        Object& (*create)(Database&, std::string_view)) {
    Object* const found = db.find(key);
    return found == nullptr ? create(db, key) : *found;
  }

  // Bounds on that share. It may be below 1, since undo chunks and scratch buffers may be freed.
  static constexpr double kLeast = 0.98;
  static constexpr double kMost = 1.02;

 private:
  void fill_and_commit(const Fill& fill) {
    fill(keyspace_.db(0));
    EXPECT_TRUE(keyspace_.commit().ok());
  }

  NullStore store_;
  Keyspace keyspace_{store_, 1};
};

TEST_F(MemoryCountTest, StringsAreCounted) {
  const double counted = share(often(50'000, [](Database& db, int i) {
    strings::set(db, "key:" + text(i), StringValue(text(i * 7)));
  }));
  EXPECT_GT(counted, kLeast);
  EXPECT_LT(counted, kMost);
}

TEST_F(MemoryCountTest, ExpiringNumbersAreCounted) {
  const double counted = share(often(50'000, [](Database& db, int i) {
    Object& made = strings::set(db, "key:" + std::to_string(i), StringValue(std::int64_t{i}));
    db.set_expiry(made, 1'000'000 + i * 7 % 10'007);
  }));
  EXPECT_GT(counted, kLeast);
  EXPECT_LT(counted, kMost);
}

TEST_F(MemoryCountTest, HashesAreCounted) {
  const double counted = share(often(50'000, [](Database& db, int i) {
    Object& hash = object(db, "h" + std::to_string(i % 40), &hashes::create);
    i % 2 == 0 ? hashes::set(db, hash, std::to_string(i), std::to_string(i))
               : hashes::set(db, hash, text(i), text(i * 3));
  }));
  EXPECT_GT(counted, kLeast);
  EXPECT_LT(counted, kMost);
}

TEST_F(MemoryCountTest, SetsAreCounted) {
  const double counted = share(often(50'000, [](Database& db, int i) {
    Object& set = object(db, "s" + std::to_string(i % 40), &sets::create);
    sets::add(db, set, i % 2 == 0 ? std::to_string(i) : text(i));
    if (i % 5 == 0 && i >= 40) {
      sets::remove(db, set, i % 2 == 0 ? std::to_string(i - 40) : text(i - 40));
    }
  }));
  EXPECT_GT(counted, kLeast);
  EXPECT_LT(counted, kMost);
}

TEST_F(MemoryCountTest, ListsAreCounted) {
  const double counted = share(often(50'000, [](Database& db, int i) {
    Object& list = object(db, "l" + std::to_string(i % 40), &lists::create);
    lists::push(db, list, i % 2 == 0 ? lists::End::kHead : lists::End::kTail, text(i));
    if (i % 9 == 0) lists::insert(db, list, list.list().size() / 2, text(i));
  }));
  EXPECT_GT(counted, kLeast);
  EXPECT_LT(counted, kMost);
}

TEST_F(MemoryCountTest, SortedSetsAreCounted) {
  const double counted = share(often(50'000, [](Database& db, int i) {
    Object& set = object(db, "z" + std::to_string(i % 40), &sorted_sets::create);
    sorted_sets::set(db, set, text(i), i * 7 % 10'007);
    if (i % 5 == 0 && i >= 40) sorted_sets::remove(db, set, text(i - 40));
  }));
  EXPECT_GT(counted, kLeast);
  EXPECT_LT(counted, kMost);
}

TEST_F(MemoryCountTest, SmallCollectionsAreCounted) {
  const double counted = share(often(6'000, [](Database& db, int i) {
    const std::string key = std::to_string(i);
    hashes::set(db, hashes::create(db, "h" + key), "f", "v");
    sets::add(db, sets::create(db, "s" + key), MaybeInteger(key));
    lists::push(db, lists::create(db, "l" + key), lists::End::kTail, "e");
    sorted_sets::set(db, sorted_sets::create(db, "z" + key), "m", 1);
  }));
  EXPECT_GT(counted, kLeast);
  EXPECT_LT(counted, kMost);
}

TEST_F(MemoryCountTest, StreamsAreCounted) {
  const double counted = share(often(20'000, [](Database& db, int i) {
    Object& stream = object(db, "x" + std::to_string(i % 40), &streams::create);
    const std::string value = text(i);
    const StreamField fields[] = {{"a", std::string_view(value)}, {"b", "5"}};
    EXPECT_TRUE(streams::append(db, stream, {static_cast<std::uint64_t>(i) + 1, 0}, fields).ok());
  }));
  EXPECT_GT(counted, kLeast);
  EXPECT_LT(counted, kMost);
}

// Abseil's B-trees do not report the fill of their nodes, so this count is exact to a quarter only.
TEST_F(MemoryCountTest, PendingEntriesAreCounted) {
  const double counted = share(often(50'000, [](Database& db, int i) {
    Object& stream = object(db, "x", &streams::create);
    if (i == 0) streams::create_group(db, stream, "g", {}, 0);
    StreamGroup& group = *stream.stream().groups().find("g");
    const std::string name = "consumer " + std::to_string(i % 50);
    StreamConsumer* consumer = group.find_consumer(name);
    if (consumer == nullptr) consumer = &streams::create_consumer(db, stream, group, name);
    streams::assign_pending(db, stream, group, {static_cast<std::uint64_t>(i), 0},
                            {.consumer = consumer, .deliveries = 1});
    if (i % 3 == 0) {
      streams::acknowledge(db, stream, group, {static_cast<std::uint64_t>(i / 2), 0});
    }
  }));
  EXPECT_GT(counted, 0.75);
  EXPECT_LT(counted, 1.25);
}

}  // namespace
}  // namespace rushgate
