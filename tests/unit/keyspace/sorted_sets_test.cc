#include "engine/redis/keyspace/sorted_sets.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "engine/redis/keyspace/keyspace.h"
#include <rushgate/memory_store.h>

namespace rushgate {
namespace {

using Scores = std::map<std::string, double>;

/// Changes the sorted set "z" of a keyspace that can be reopened.
class SortedSetsTest : public ::testing::Test {
 protected:
  SortedSetsTest() { reopen(); }

  void reopen() {
    keyspace_ = std::make_unique<Keyspace>(store_, 1);
    ASSERT_TRUE(keyspace_->load().ok());
  }
  bool set(const std::string& member, double score) {
    if (object() == nullptr) sorted_sets::create(db(), "z");
    return sorted_sets::set(db(), *object(), member, score);
  }
  bool remove(const std::string& member) { return sorted_sets::remove(db(), *object(), member); }
  void commit() { ASSERT_TRUE(keyspace_->commit().ok()); }
  void roll_back() { keyspace_->changes().roll_back_to({}); }

  Scores scores() {
    Scores all;
    if (object() == nullptr) return all;
    const SortedSetValue& value = object()->sorted_set();
    value.for_each(0, value.size(), [&](const ScoredElement& element) {
      EXPECT_EQ(value.score(element.member), element.score);
      all.emplace(element.member, element.score);
    });
    return all;
  }
  Scores reloaded() {
    reopen();
    return scores();
  }
  std::size_t records() {
    std::size_t count = 0;
    EXPECT_TRUE(store_.load([&](std::string_view, std::string_view) { ++count; }).ok());
    return count;
  }
  bool is_small() { return !object()->sorted_set().is_large(); }

  Database& db() { return keyspace_->db(0); }
  Object* object() { return db().find("z"); }
  Keyspace& keyspace() { return *keyspace_; }

 private:
  MemoryStore store_{{.keep_state = true}};
  std::unique_ptr<Keyspace> keyspace_;
};

TEST_F(SortedSetsTest, SetAndRemoveReportChange) {
  EXPECT_TRUE(set("a", 1));
  EXPECT_FALSE(set("a", 2));
  EXPECT_TRUE(remove("a") && object() == nullptr);
  set("b", 1);
  EXPECT_FALSE(remove("a"));
}

TEST_F(SortedSetsTest, EachMemberIsOneRecord) {
  set("a", 1);
  set("b", 2);
  commit();
  EXPECT_EQ(records(), 3U);  // two members and the header
  set("a", 5);
  remove("b");
  commit();
  EXPECT_EQ(records(), 2U);
  EXPECT_EQ(reloaded(), (Scores{{"a", 5}}));
  remove("a");
  commit();
  EXPECT_EQ(records(), 0U);
}

TEST_F(SortedSetsTest, AnyScoreAndMemberAreReloaded) {
  using Limits = std::numeric_limits<double>;
  Scores all = {{"", 0},
                {"17", -1},
                {"007", 1e15},
                {std::string("\0\xff", 2), 0.1},
                {"max", Limits::max()},
                {"lowest", Limits::lowest()},
                {"smallest", Limits::denorm_min()},
                {"infinity", Limits::infinity()},
                {"-infinity", -Limits::infinity()},
                {"2^53", 9007199254740992},
                {"-2^53", -9007199254740992},
                {"2^53-1", 9007199254740991},
                {"2^63", 9223372036854775808.0},
                {"half", 4503599627370495.5},
                {std::string(10'000, 'x'), 3.3}};
  for (const auto& [member, score] : all) set(member, score);
  commit();
  EXPECT_EQ(reloaded(), all);
}

TEST_F(SortedSetsTest, SmallSortedSetHasOneZero) {
  set("a", -0.0);
  EXPECT_FALSE(std::signbit(*object()->sorted_set().score("a")));
  set(std::string(65, 'x'), 1);
  set("a", 1);
  set("a", -0.0);
  EXPECT_TRUE(std::signbit(*object()->sorted_set().score("a")));
  commit();
  reopen();
  EXPECT_TRUE(std::signbit(*object()->sorted_set().score("a")));
}

TEST_F(SortedSetsTest, RollbackRestoresScoresMembersAndSmallness) {
  for (int i = 0; i < 128; ++i) set(std::to_string(i), i);
  commit();
  const Scores before = scores();
  set("5", 1'000);
  set("5", 2'000);
  set("new", 1);
  remove("7");
  remove("new");
  EXPECT_FALSE(is_small());
  roll_back();
  EXPECT_EQ(scores(), before);
  EXPECT_TRUE(is_small());
  commit();
  EXPECT_EQ(reloaded(), before);
}

TEST_F(SortedSetsTest, RollbackRestoresKeyOfLastMember) {
  set("a", 1);
  set("b", 2);
  commit();
  remove("a");
  remove("b");
  EXPECT_EQ(object(), nullptr);
  set("c", 3);
  roll_back();
  EXPECT_EQ(scores(), (Scores{{"a", 1}, {"b", 2}}));
  EXPECT_EQ(reloaded(), (Scores{{"a", 1}, {"b", 2}}));
}

TEST_F(SortedSetsTest, RecreatedKeyHasNoOldMembers) {
  set("a", 1);
  set("b", 2);
  commit();
  remove("a");
  remove("b");
  set("b", 3);
  commit();
  EXPECT_EQ(reloaded(), (Scores{{"b", 3}}));
}

TEST_F(SortedSetsTest, StoreReplacesAnyValue) {
  set("a", 1);
  commit();
  const std::vector<sorted_sets::ScoredMember> members = {{"x", 1}, {"y", 2}};
  sorted_sets::store(db(), "z", members, true);
  EXPECT_EQ(scores(), (Scores{{"x", 1}, {"y", 2}}));
  roll_back();
  EXPECT_EQ(scores(), (Scores{{"a", 1}}));
  sorted_sets::store(db(), "z", members, true);
  commit();
  EXPECT_EQ(reloaded(), (Scores{{"x", 1}, {"y", 2}}));
  sorted_sets::store(db(), "z", {}, true);
  EXPECT_EQ(object(), nullptr);
  commit();
  EXPECT_EQ(records(), 0U);
}

TEST_F(SortedSetsTest, InvalidRecordIsRefused) {
  const auto load_with = [](std::string_view score) {
    MemoryStore store{{.keep_state = true}};
    StoreBatch batch;
    // The header of "z", with no expiry and object 1, and the element "a".
    batch.put(std::string("\x01\x00z", 3), std::string("\x05\x01\x01", 3));
    batch.put(std::string("\x02\0\0\0\0\0\0\0\x01sa", 11), score);
    EXPECT_TRUE(store.commit(batch).ok());
    return Keyspace(store, 1).load();
  };
  EXPECT_TRUE(load_with("i\x02").ok());
  EXPECT_TRUE(load_with(std::string_view("d\x3f\xf0\0\0\0\0\0\0", 9)).ok());
  for (const std::string_view score :
       {std::string_view(""), std::string_view("i"), std::string_view("x\x02"),
        std::string_view("i\x02\x02"), std::string_view("d\x3f\xf0\0\0\0\0\0", 8),
        std::string_view("d\x7f\xf8\0\0\0\0\0\0", 9)}) {
    EXPECT_FALSE(load_with(score).ok()) << score;
  }
}

}  // namespace
}  // namespace rushgate
