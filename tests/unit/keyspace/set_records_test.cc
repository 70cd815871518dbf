#include "engine/redis/keyspace/set_records.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/redis/keyspace/keyspace.h"
#include "engine/redis/keyspace/sets.h"
#include "tests/unit/keyspace/set_records_model.h"
#include <rushgate/memory_store.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

using Members = std::set<std::string>;

/// Changes the set "s" of a keyspace that can be reopened.
class SetRecordsTest : public ::testing::Test {
 protected:
  SetRecordsTest() { reopen(); }

  void reopen() {
    keyspace_ = std::make_unique<Keyspace>(store_, 1);
    ASSERT_TRUE(keyspace_->load().ok());
  }
  void add(const std::string& member) {
    if (object() == nullptr) sets::create(db(), "s");
    sets::add(db(), *object(), member);
  }
  void add_all(const Members& members) {
    for (const std::string& member : members) add(member);
  }
  /// Adds the numbers from `begin` to before `end`.
  Members add_range(int begin, int end) {
    Members added;
    for (int i = begin; i < end; ++i) added.insert(std::to_string(i));
    add_all(added);
    return added;
  }
  void take(Members& from, int member) {
    remove(std::to_string(member));
    from.erase(std::to_string(member));
  }
  void remove(const std::string& member) { sets::remove(db(), *object(), member); }
  void commit() { ASSERT_TRUE(keyspace_->commit().ok()); }

  Members members() {
    Members all;
    if (object() != nullptr) {
      object()->set().for_each([&](std::string_view member) { all.emplace(member); });
    }
    return all;
  }
  Members reloaded() {
    reopen();
    return members();
  }

  /// Returns the number of state records in the store.
  std::size_t records() {
    std::size_t count = 0;
    EXPECT_TRUE(store_.load([&](std::string_view, std::string_view) { ++count; }).ok());
    return count;
  }

  Database& db() { return keyspace_->db(0); }
  Object* object() { return db().find("s"); }

  MemoryStore store_{{.keep_state = true}};
  std::unique_ptr<Keyspace> keyspace_;
};

TEST_F(SetRecordsTest, NewMembersOfBatchAreOneRecord) {
  Members buyers;
  for (int i = 0; i < 1'000; ++i) buyers.insert(std::to_string(1'000'003 * i));
  add_all(buyers);
  commit();
  EXPECT_EQ(records(), 2U);  // the segment and the header
  EXPECT_EQ(reloaded(), buyers);
}

TEST_F(SetRecordsTest, SingleNewMemberIsElement) {
  add_all({"1", "2"});
  commit();
  add("3");
  commit();
  EXPECT_EQ(records(), 3U);
  EXPECT_EQ(reloaded(), (Members{"1", "2", "3"}));
}

TEST_F(SetRecordsTest, AnyMembersAreReloaded) {
  using Limits = std::numeric_limits<std::int64_t>;
  const Members all = {"",
                       "0",
                       "-1",
                       "007",
                       "text",
                       std::string("\0\xff", 2),
                       std::string(100'000, 'x'),
                       std::to_string(Limits::max()),
                       std::to_string(Limits::min()),
                       std::to_string((std::int64_t{1} << 61) - 1),
                       std::to_string(std::int64_t{1} << 61),
                       std::to_string(-(std::int64_t{1} << 61))};
  add_all(all);
  commit();
  EXPECT_EQ(reloaded(), all);
}

TEST_F(SetRecordsTest, MemberRemovedFromSegmentStaysRemoved) {
  add_all({"1", "2", "3"});
  commit();
  remove("2");
  commit();
  EXPECT_EQ(reloaded(), (Members{"1", "3"}));
  remove("1");  // the member in the key of the segment
  commit();
  EXPECT_EQ(reloaded(), (Members{"3"}));
}

TEST_F(SetRecordsTest, RemovedMemberMayReturn) {
  add_all({"1", "2", "3"});
  commit();
  remove("1");
  commit();
  add_all({"1", "4"});
  commit();
  EXPECT_EQ(reloaded(), (Members{"1", "2", "3", "4"}));
  add_all({"5", "6"});
  commit();
  EXPECT_EQ(reloaded(), (Members{"1", "2", "3", "4", "5", "6"}));
}

TEST_F(SetRecordsTest, AdditionAndRemovalInOneBatch) {
  add_all({"1", "2"});
  remove("2");
  add_all({"3", "4"});
  remove("3");
  add("3");
  commit();
  EXPECT_EQ(reloaded(), (Members{"1", "3", "4"}));
}

TEST_F(SetRecordsTest, UndoneMembersAreNotRecorded) {
  add_all({"1", "2"});
  const auto savepoint = keyspace_->changes().savepoint();
  add_all({"3", "4"});
  remove("1");
  add("1");
  keyspace_->changes().roll_back_to(savepoint);
  EXPECT_EQ(members(), (Members{"1", "2"}));
  add("5");
  commit();
  EXPECT_EQ(reloaded(), (Members{"1", "2", "5"}));
}

TEST_F(SetRecordsTest, RemovedSetLeavesNoRecord) {
  add_all({"1", "2", "3"});
  commit();
  remove("2");
  commit();
  db().remove(*object());
  commit();
  EXPECT_EQ(records(), 0U);
  add_all({"2", "7"});
  commit();
  EXPECT_EQ(reloaded(), (Members{"2", "7"}));
}

// ---- Changing members ------------

TEST_F(SetRecordsTest, ChangingMembersDoNotAccumulateRecords) {
  add_all({"1", "2", "3"});
  commit();
  std::size_t most = 0;
  for (int i = 0; i < 5'000; ++i) {
    const std::string guest = std::to_string(1'000 + i);
    add(guest);
    commit();
    remove(guest);
    commit();
    if (i % 100 == 99) most = std::max(most, records());
  }
  EXPECT_LE(most, SetRecords::kTombstonesMax + 5);
  EXPECT_GT(most, SetRecords::kTombstonesMax / 2) << "it is rewritten too often";
  EXPECT_EQ(reloaded(), (Members{"1", "2", "3"}));
}

TEST_F(SetRecordsTest, LoadedTombstonesAreCounted) {
  add_all({"1", "2", "3"});
  commit();
  for (int i = 0; i < 3'000; ++i) {
    const std::string guest = std::to_string(1'000 + i);
    add(guest);
    commit();
    remove(guest);
    commit();
    if (i % 100 == 99) {
      EXPECT_EQ(reloaded(), (Members{"1", "2", "3"}));
    }
  }
  EXPECT_LE(records(), SetRecords::kTombstonesMax + 5);
}

// ---- Rewriting ----

/// A large set that is being rewritten since its last removal.
class RewrittenSetTest : public SetRecordsTest {
 protected:
  static constexpr int kMembers = 20'000;

  RewrittenSetTest() {
    buyers_ = add_range(0, kMembers);
    for (int i = 0; i < 200; ++i) buyers_.insert("vip" + std::to_string(i));
    add_all(buyers_);
    commit();
    while (!is_rewritten()) take_next();
    commit();
  }

  bool is_rewritten() { return object()->set().records().is_being_rewritten(); }
  void take_next() { take(buyers_, next_++); }
  /// Returns the size of the uncommitted records.
  std::size_t bytes() { return keyspace_->changes().records().size_bytes(); }

  Members buyers_;
  int next_ = 0;
};

TEST_F(RewrittenSetTest, RemovalWritesBoundedPortion) {
  constexpr std::size_t kBytesMax = 8 * 1'024;  // the whole set takes 40 KiB
  int removals = 0;
  for (; is_rewritten(); ++removals) {
    take_next();
    EXPECT_LT(bytes(), kBytesMax);
    commit();
  }
  EXPECT_GT(removals, 50);
  EXPECT_LT(removals, 500);
  EXPECT_LT(records(), 1'000U);
  EXPECT_EQ(reloaded(), buyers_);
}

TEST_F(RewrittenSetTest, RewritingContinuesAfterReopening) {
  int reopened = 0;
  for (int round = 0; is_rewritten(); ++round) {
    for (int i = 0; i < 20 + round; ++i) {
      take_next();
      add("new" + std::to_string(next_));
      add(std::to_string(i));  // a member removed before
      buyers_.insert({"new" + std::to_string(next_), std::to_string(i)});
    }
    commit();
    EXPECT_EQ(reloaded(), buyers_);
    take(buyers_, 0);
    remove("new" + std::to_string(next_));  // a member added meanwhile
    buyers_.erase("new" + std::to_string(next_));
    commit();
    EXPECT_EQ(reloaded(), buyers_);
    ++reopened;
  }
  EXPECT_GT(reopened, 2);
  EXPECT_EQ(reloaded(), buyers_);
}

TEST_F(RewrittenSetTest, PortionIsUndone) {
  const auto savepoint = keyspace_->changes().savepoint();
  const Members before = buyers_;
  const int next = next_;
  while (is_rewritten()) take_next();
  keyspace_->changes().roll_back_to(savepoint);
  EXPECT_TRUE(is_rewritten());
  buyers_ = before;
  next_ = next;
  EXPECT_EQ(members(), buyers_);
  add("new");
  buyers_.insert("new");
  commit();
  EXPECT_EQ(reloaded(), buyers_);
}

TEST_F(RewrittenSetTest, RemovedSetLeavesNoRecord) {
  db().remove(*object());
  commit();
  EXPECT_EQ(records(), 0U);
}

TEST_F(RewrittenSetTest, FlushLeavesNoRecord) {
  sets::add(db(), sets::create(db(), "other"), "a");
  commit();
  db().remove_all();
  commit();
  EXPECT_EQ(records(), 0U);
}

TEST_F(RewrittenSetTest, RenamedSetIsComplete) {
  db().move(*object(), db(), "t");
  commit();
  reopen();
  db().move(*db().find("t"), db(), "s");
  commit();
  EXPECT_EQ(reloaded(), buyers_);
}

/// A set of three members with the most tombstones allowed: another removal rewrites it.
class TombstonedSetTest : public SetRecordsTest {
 protected:
  TombstonedSetTest() {
    const Members guests = add_range(1'000, 1'000 + static_cast<int>(SetRecords::kTombstonesMax));
    add_all({"1", "2", "3"});
    commit();
    for (const std::string& guest : guests) remove(guest);
    commit();
    EXPECT_GT(records(), SetRecords::kTombstonesMax);
  }
};

TEST_F(TombstonedSetTest, NextRemovalRewritesSet) {
  remove("2");
  add_all({"4", "1000"});  // 1000 has a tombstone
  commit();
  EXPECT_EQ(records(), 3U);  // the header, the members, and the members of this batch
  EXPECT_EQ(reloaded(), (Members{"1", "3", "4", "1000"}));
}

TEST_F(TombstonedSetTest, RewriteIncludesEarlierMembersOfBatch) {
  add_all({"4", "5"});
  remove("2");
  remove("5");
  commit();
  EXPECT_EQ(reloaded(), (Members{"1", "3", "4"}));
}

TEST_F(TombstonedSetTest, UndoRestoresRecords) {
  add_all({"4", "5"});
  const auto savepoint = keyspace_->changes().savepoint();
  remove("2");
  add("6");
  remove("6");
  keyspace_->changes().roll_back_to(savepoint);
  EXPECT_EQ(members(), (Members{"1", "2", "3", "4", "5"}));
  add_all({"1000", "1001"});  // they have tombstones, so a segment cannot add them
  commit();
  EXPECT_GT(records(), SetRecords::kTombstonesMax);
  EXPECT_EQ(reloaded(), (Members{"1", "2", "3", "4", "5", "1000", "1001"}));
}

TEST_F(TombstonedSetTest, FailedCommitLeavesSetUnchanged) {
  faults::FaultyStore failing(store_);
  keyspace_ = std::make_unique<Keyspace>(failing, 1);
  ASSERT_TRUE(keyspace_->load().ok());
  const std::size_t before = records();
  failing.fail_commit(1, faults::FaultyStore::Kept::kNo);
  add("4");
  remove("2");
  add_all({"5", "6"});
  EXPECT_FALSE(keyspace_->commit().ok());
  EXPECT_EQ(members(), (Members{"1", "2", "3"}));
  EXPECT_EQ(records(), before);
  add_all({"1000", "1001"});
  commit();
  EXPECT_EQ(reloaded(), (Members{"1", "2", "3", "1000", "1001"}));
}

TEST_F(TombstonedSetTest, LastMemberRemovesAllRecords) {
  for (const char* member : {"1", "2", "3"}) remove(member);
  commit();
  EXPECT_EQ(records(), 0U);
}

TEST(SetRecordsModelTest, RandomChangesMatchModel) {
  MemoryStore store({.keep_state = true});
  SetRecordsModel model([&] { return std::make_unique<faults::FaultyStore>(store); });
  model.run(200);
  EXPECT_GT(model.rewrites(), 0U);
}

TEST(SetRecordsModelTest, RandomChangesDuringRewritesMatchModel) {
  MemoryStore store({.keep_state = true});
  SetRecordsModel model([&] { return std::make_unique<faults::FaultyStore>(store); }, 20'000);
  model.run(200);
  EXPECT_GT(model.rewrites(), 0U);
}

TEST(SetSegmentTest, InvalidBytesAreRefused) {
  const auto visits = [](std::string_view bytes) {
    return visit_set_segment(
        bytes, [](std::int64_t) {}, [](std::string_view) {});
  };
  EXPECT_TRUE(visits(""));
  EXPECT_FALSE(
      visits("\x07"
             "ab"));                                                 // a string of three bytes
  EXPECT_FALSE(visits("\xff"));                                      // half a varint
  EXPECT_FALSE(visits("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"));  // a varint that is too long
}

}  // namespace
}  // namespace rushgate
