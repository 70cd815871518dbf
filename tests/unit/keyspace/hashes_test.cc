#include "engine/redis/keyspace/hashes.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/redis/keyspace/keyspace.h"
#include "engine/redis/keyspace/records.h"
#include <rushgate/memory_store.h>

namespace rushgate {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// Changes the hash "h" of a keyspace that can be reopened.
class HashesTest : public ::testing::Test {
 protected:
  HashesTest() { reopen(); }

  void reopen(const EncodingLimits& limits = {}) {
    keyspace_ = std::make_unique<Keyspace>(store_, 1);
    keyspace_->set_limits(limits);
    ASSERT_TRUE(keyspace_->load().ok());
  }
  void commit() { ASSERT_TRUE(keyspace_->commit().ok()); }
  bool set(std::string_view field, std::string_view value = "v") {
    if (object() == nullptr) hashes::create(db(), "h");
    return hashes::set(db(), *object(), field, value);
  }
  bool remove(std::string_view field) { return hashes::remove(db(), *object(), field); }
  Pairs pairs() {
    Pairs pairs;
    object()->hash().for_each(
        [&](std::string_view field, std::string_view value) { pairs.emplace_back(field, value); });
    return pairs;
  }
  Pairs reloaded() {
    commit();
    reopen();
    return pairs();
  }

  Database& db() { return keyspace_->db(0); }
  Object* object() { return db().find("h"); }

  MemoryStore store_{{.keep_state = true}};
  std::unique_ptr<Keyspace> keyspace_;
};

TEST_F(HashesTest, SmallHashKeepsOrderWhenReopened) {
  for (const char* const field : {"z", "10", "a", "9", ""}) set(field);
  EXPECT_EQ(reloaded(), (Pairs{{"z", "v"}, {"10", "v"}, {"a", "v"}, {"9", "v"}, {"", "v"}}));
  set("a", "1");
  remove("10");
  EXPECT_EQ(reloaded(), (Pairs{{"z", "v"}, {"a", "1"}, {"9", "v"}, {"", "v"}}));
  set("10");
  remove("");
  set("0");
  const Pairs expected{{"z", "v"}, {"a", "1"}, {"9", "v"}, {"10", "v"}, {"0", "v"}};
  EXPECT_EQ(pairs(), expected);
  EXPECT_EQ(reloaded(), expected);
}

TEST_F(HashesTest, RolledBackChangesKeepOrder) {
  for (const char* const field : {"c", "a", "b"}) set(field);
  commit();
  const Pairs before = pairs();
  remove("a");
  set("d", std::string(64, 'x'));
  set("c", "a longer value");
  remove("c");
  set("e", std::string(65, 'x'));
  remove("d");
  set("c");
  EXPECT_TRUE(object()->hash().is_large());
  keyspace_->changes().roll_back_to({});
  EXPECT_FALSE(object()->hash().is_large());
  EXPECT_EQ(pairs(), before);
  EXPECT_EQ(reloaded(), before);
}

TEST_F(HashesTest, LargeHashIsReadUnderAnyLimits) {
  for (const char* const field : {"c", "a", "b"}) set(field);
  set("long", std::string(65, 'x'));
  remove("long");
  set("d");
  commit();
  reopen();
  EXPECT_FALSE(object()->hash().is_large());
  EXPECT_EQ(pairs(), (Pairs{{"c", "v"}, {"d", "v"}, {"a", "v"}, {"b", "v"}}));
  set("e");
  EXPECT_EQ(reloaded(), (Pairs{{"c", "v"}, {"d", "v"}, {"a", "v"}, {"b", "v"}, {"e", "v"}}));
  EncodingLimits limits;
  limits.hash_entries = 4;
  reopen(limits);
  EXPECT_TRUE(object()->hash().is_large());
  EXPECT_EQ(pairs().size(), 5U);
}

TEST_F(HashesTest, HashOfEarlierVersionKeepsItsFields) {
  StoreBatch batch(true);
  std::string key;
  write_header_key(0, "h", key);
  constexpr std::string_view kHashWithoutExpiryWithId7("\x01\x01\x07");
  batch.put(key, kHashWithoutExpiryWithId7);
  put_element(batch, 7, "b", "1");
  put_element(batch, 7, "a", "");
  put_element(batch, 7, "5", "\x01 text");
  ASSERT_TRUE(store_.commit(batch).ok());
  reopen();
  EXPECT_EQ(pairs(), (Pairs{{"5", "\x01 text"}, {"a", ""}, {"b", "1"}}));
  set("b", "2");
  set("0", "3");
  remove("5");
  EXPECT_EQ(pairs(), (Pairs{{"a", ""}, {"b", "2"}, {"0", "3"}}));
  db().set_expiry(*object(), 1'000'000);  // writes the header
  EXPECT_EQ(reloaded(), (Pairs{{"0", "3"}, {"a", ""}, {"b", "2"}}));
}

TEST_F(HashesTest, NewValueWritesOneRecord) {
  for (const char* const field : {"c", "a", "b"}) set(field);
  commit();
  StoreBatch expected(true);
  put_field(expected, object()->id, "a", 1, "new");
  set("a", "new");
  keyspace_->changes().complete_records();
  EXPECT_EQ(keyspace_->changes().records().size_bytes(), expected.size_bytes());
}

TEST_F(HashesTest, ShrunkBlockIsCounted) {
  for (int i = 0; i < 500; ++i) set(std::to_string(i));
  commit();
  const std::size_t before = keyspace_->changes().memory().bytes();
  for (int i = 1; i < 500; ++i) remove(std::to_string(i));
  EXPECT_EQ(keyspace_->changes().memory().bytes(), before) << "an undo step may need it";
  commit();
  EXPECT_LT(keyspace_->changes().memory().bytes(), before - 2'000);
  EXPECT_EQ(pairs(), (Pairs{{"0", "v"}}));
}

}  // namespace
}  // namespace rushgate
