#include "engine/redis/keyspace/lists.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "engine/redis/keyspace/keyspace.h"
#include "engine/redis/keyspace/records.h"
#include "tests/unit/keyspace/lists_model.h"
#include <rushgate/memory_store.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

using lists::End;
using Elements = std::vector<std::string>;

/// Counts the operations of a batch by kind.
struct Count final : StoreBatch::Visitor {
  void put(std::string_view, std::string_view) override { ++puts; }
  void remove(std::string_view) override { ++removals; }
  void remove_range(std::string_view, std::string_view) override { ++range_removals; }
  void append_segment(std::uint64_t, StreamId, std::string_view) override {}
  void trim_stream(std::uint64_t, StreamId) override {}
  void remove_segment(std::uint64_t, StreamId) override {}
  void drop_streams(std::uint64_t, std::uint64_t) override {}

  std::size_t puts = 0;
  std::size_t removals = 0;
  std::size_t range_removals = 0;
};

/// Changes the list "l" of a keyspace that can be reopened.
class ListsTest : public ::testing::Test {
 protected:
  ListsTest() { reopen(); }

  void reopen() {
    keyspace_ = std::make_unique<Keyspace>(store_, 1);
    ASSERT_TRUE(keyspace_->load().ok());
  }
  void push(const Elements& elements, End end = End::kTail) {
    if (object() == nullptr) lists::create(db(), "l");
    for (const std::string& element : elements) lists::push(db(), *object(), end, element);
  }
  /// Appends e0, e1, … and returns them.
  Elements push_many(std::size_t count) {
    Elements elements;
    for (std::size_t i = 0; i < count; ++i) elements.push_back("e" + std::to_string(i));
    push(elements);
    return elements;
  }
  void commit() { ASSERT_TRUE(keyspace_->commit().ok()); }

  /// Counts the uncommitted records, headers excluded.
  Count records_of_group() {
    Count count;
    keyspace_->changes().records().visit(count);
    return count;
  }
  /// Returns the number of state records in the store.
  std::size_t records() {
    std::size_t count = 0;
    EXPECT_TRUE(store_.load([&](std::string_view, std::string_view) { ++count; }).ok());
    return count;
  }

  Elements elements() {
    Elements all;
    if (object() == nullptr) return all;
    const ListValue& list = object()->list();
    list.for_each(0, list.size(),
                  [&](ListPosition, std::string element) { all.push_back(std::move(element)); });
    return all;
  }
  Elements reloaded() {
    reopen();
    return elements();
  }

  Database& db() { return keyspace_->db(0); }
  Object* object() { return db().find("l"); }
  ListValue& list() { return object()->list(); }

  MemoryStore store_{{.keep_state = true}};
  std::unique_ptr<Keyspace> keyspace_;
};

TEST_F(ListsTest, PushedElementsReloadInOrder) {
  push({"c", "d", "4", "", "05"});
  push({"b", "a"}, End::kHead);
  commit();
  EXPECT_EQ(reloaded(), (Elements{"a", "b", "c", "d", "4", "", "05"}));
  push({"e"});
  push({"_"}, End::kHead);
  commit();
  EXPECT_EQ(reloaded(), (Elements{"_", "a", "b", "c", "d", "4", "", "05", "e"}));
}

TEST_F(ListsTest, ChangeWritesOnlyItsElements) {
  push_many(1'000);
  commit();
  EXPECT_EQ(records(), 1'001U);
  push({"x"});
  EXPECT_EQ(records_of_group().puts, 1U);
  commit();
  lists::pop(db(), *object(), End::kHead);
  EXPECT_EQ(records_of_group().removals, 1U);
  EXPECT_EQ(records_of_group().puts, 0U);
  commit();
  lists::insert(db(), *object(), 500, "x");
  lists::set(db(), *object(), 700, "x");
  EXPECT_EQ(records_of_group().puts, 2U);
  commit();
  EXPECT_EQ(lists::remove_equal(db(), *object(), "x", End::kHead, 2), 2U);
  EXPECT_EQ(records_of_group().removals, 2U);
  EXPECT_EQ(records_of_group().puts, 0U);
  const Elements before = elements();
  commit();
  EXPECT_EQ(reloaded(), before);
}

TEST_F(ListsTest, TrimWritesOneRangePerEnd) {
  Elements kept = push_many(10'000);
  commit();
  lists::remove_range(db(), *object(), 9'000, 1'000);
  lists::remove_range(db(), *object(), 0, 3'000);
  EXPECT_EQ(records_of_group().range_removals, 2U);
  EXPECT_EQ(records_of_group().removals, 0U);
  EXPECT_EQ(records_of_group().puts, 0U);
  EXPECT_EQ(keyspace_->changes().savepoint().undo_steps, 2U);
  commit();
  kept = Elements(kept.begin() + 3'000, kept.begin() + 9'000);
  EXPECT_EQ(reloaded(), kept);
  EXPECT_EQ(records(), 6'001U);
  lists::remove_range(db(), *object(), 0, 64);
  EXPECT_EQ(records_of_group().range_removals, 0U);
  EXPECT_EQ(records_of_group().removals, 64U);
}

TEST_F(ListsTest, RemovedListLeavesNoRecord) {
  push_many(100);
  commit();
  db().remove(*object());
  commit();
  EXPECT_EQ(records(), 0U);
  push({"a", "b"});
  commit();
  lists::pop(db(), *object(), End::kTail);
  lists::pop(db(), *object(), End::kTail);
  commit();
  EXPECT_EQ(object(), nullptr);
  EXPECT_EQ(records(), 0U);
  push({"a", "a"});
  commit();
  EXPECT_EQ(lists::remove_equal(db(), *object(), "a", End::kTail, 5), 2U);
  commit();
  EXPECT_EQ(records(), 0U);
  push({"x"});
  commit();
  EXPECT_EQ(reloaded(), (Elements{"x"}));
}

TEST_F(ListsTest, EachChangeCanBeUndone) {
  push_many(2'000);
  push({"x", "y", "x"});
  lists::insert(db(), *object(), 1'000, "x");
  commit();
  const Elements before = elements();
  const auto savepoint = keyspace_->changes().savepoint();
  const auto expect_back = [&](const char* change) {
    keyspace_->changes().roll_back_to(savepoint);
    EXPECT_EQ(elements(), before) << change;
    EXPECT_TRUE(keyspace_->changes().records().empty()) << change;
  };
  push({"z"});
  push({"z"}, End::kHead);
  expect_back("push");
  lists::pop(db(), *object(), End::kHead);
  lists::pop(db(), *object(), End::kTail);
  expect_back("pop");
  lists::set(db(), *object(), 1'234, std::string(10'000, 'l'));
  expect_back("set");
  for (int i = 0; i < 1'000; ++i) lists::insert(db(), *object(), 777, std::to_string(i));
  expect_back("insert");
  lists::remove_equal(db(), *object(), "x", End::kTail, 2);
  expect_back("remove_equal");
  lists::remove_range(db(), *object(), 0, 1'500);
  lists::remove_range(db(), *object(), 100, object()->list().size() - 100);
  lists::remove_range(db(), *object(), 0, 100);
  push({"new"});
  expect_back("remove_range");
  commit();
  EXPECT_EQ(reloaded(), before);
}

// ---- Positions ----

TEST_F(ListsTest, InsertingAtOnePlaceMovesFewElements) {
  push_many(20'000);
  commit();
  constexpr std::size_t kInsertions = 20'000;
  for (std::size_t i = 0; i < kInsertions; ++i) lists::insert(db(), *object(), 10'000, "x");
  EXPECT_LT(records_of_group().puts, 10 * kInsertions);
  const Elements before = elements();
  EXPECT_EQ(before[9'999], "e9999");
  EXPECT_EQ(before[10'000], "x");
  EXPECT_EQ(before[10'000 + kInsertions], "e10000");
  commit();
  EXPECT_EQ(records(), 20'000 + kInsertions + 1);
  EXPECT_EQ(reloaded(), before);
}

TEST_F(ListsTest, InsertingBehindHeadMovesFewElements) {
  push_many(20'000);
  commit();
  constexpr std::size_t kInsertions = 5'000;
  for (std::size_t i = 0; i < kInsertions; ++i) {
    lists::insert(db(), *object(), 1, "x");
    lists::insert(db(), *object(), list().size() - 1, "y");
  }
  EXPECT_LT(records_of_group().puts, 2 * 10 * kInsertions);
  const Elements before = elements();
  EXPECT_EQ(before.front(), "e0");
  EXPECT_EQ(before.back(), "e19999");
  commit();
  EXPECT_EQ(reloaded(), before);
}

/// Lists near the first and the last possible position.
class ListsAtTheEdgeTest : public ListsTest {
 protected:
  void load_at(ListPosition first, ListPosition second) {
    StoreBatch batch;
    std::string key;
    write_header_key(0, "l", key);
    const std::unique_ptr<Object> header = Object::make("l", ListValue());
    header->id = 1;
    std::string value;
    write_header_value(*header, value);
    batch.put(key, value);
    for (const auto& [position, element] : {std::pair(first, "a"), std::pair(second, "b")}) {
      key = element_prefix(RecordKind::kElement, 1);
      RecordWriter(key).fixed64(position);
      batch.put(key, element);
    }
    ASSERT_TRUE(store_.commit(batch).ok());
    ASSERT_EQ(reloaded(), (Elements{"a", "b"}));
  }
};

TEST_F(ListsAtTheEdgeTest, ExhaustedTailPositionsAreReassigned) {
  constexpr ListPosition kLast = std::numeric_limits<ListPosition>::max();
  load_at(kLast - 1, kLast);
  push({"c", "d"});
  lists::insert(db(), *object(), 1, "a1");
  commit();
  EXPECT_EQ(reloaded(), (Elements{"a", "a1", "b", "c", "d"}));
  EXPECT_EQ(records(), 6U);
}

TEST_F(ListsAtTheEdgeTest, ExhaustedHeadPositionsAreReassigned) {
  load_at(0, 1);
  push({"_"}, End::kHead);
  commit();
  EXPECT_EQ(reloaded(), (Elements{"_", "a", "b"}));
  EXPECT_EQ(records(), 4U);
}

TEST_F(ListsAtTheEdgeTest, ExhaustedGapIsWidened) {
  load_at(7, 8);
  lists::insert(db(), *object(), 1, "a1");
  commit();
  EXPECT_EQ(reloaded(), (Elements{"a", "a1", "b"}));
}

// ---- Loading ----

TEST_F(ListsTest, InvalidRecordIsNotLoaded) {
  push({"a"});
  commit();
  StoreBatch batch;
  batch.put(element_prefix(RecordKind::kElement, object()->id) + "short", "b");
  ASSERT_TRUE(store_.commit(batch).ok());
  EXPECT_EQ(Keyspace(store_, 1).load().code(), absl::StatusCode::kDataLoss);
}

TEST(ListsModelTest, RandomChangesMatchModel) {
  MemoryStore store({.keep_state = true});
  ListsModel model([&] { return std::make_unique<faults::FaultyStore>(store); });
  model.run(400);
}

}  // namespace
}  // namespace rushgate
