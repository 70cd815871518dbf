#include "engine/redis/keyspace/copies.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/redis/keyspace/encodings.h"
#include "engine/redis/keyspace/hashes.h"
#include "engine/redis/keyspace/keyspace.h"
#include "engine/redis/keyspace/lists.h"
#include "engine/redis/keyspace/sets.h"
#include "engine/redis/keyspace/sorted_sets.h"
#include "engine/redis/keyspace/streams.h"
#include "engine/redis/keyspace/strings.h"
#include <rushgate/memory_store.h>

namespace rushgate {
namespace {

/// Copies values in a keyspace that can be reopened.
class CopiesTest : public ::testing::Test {
 protected:
  CopiesTest() { reopen(); }

  void reopen() {
    keyspace_ = std::make_unique<Keyspace>(store_, 1);
    ASSERT_TRUE(keyspace_->load().ok());
  }
  void commit_and_reopen() {
    ASSERT_TRUE(keyspace_->commit().ok());
    reopen();
  }
  Database& db(std::size_t number = 0) { return keyspace_->db(number); }
  std::string encoding(std::string_view key) { return std::string(encoding_name(*db().find(key))); }

  /// Returns all visible properties of a stream.
  static std::string described(const Stream& stream) {
    const StreamLog& log = stream.log();
    std::string text = std::to_string(log.length()) + ' ' + std::to_string(log.entries_added()) +
                       ' ' + log.last_id().to_string() + ' ' + log.max_deleted_id().to_string();
    EXPECT_TRUE(log.read(StreamId::min(), StreamId::max(),
                         [&](const StreamEntry& entry) {
                           text += '\n' + entry.id().to_string();
                           for (std::size_t i = 0; i < entry.size(); ++i)
                             text += ' ' + std::string(entry.name(i)) + '=' + entry.value(i);
                           return true;
                         })
                    .ok());
    for (const auto& [name, group] : stream.groups()) {
      text += "\ngroup " + name + ' ' + group->last_delivered.to_string() + ' ' +
              std::to_string(group->entries_read);
      for (const auto& [consumer, held] : group->consumers) {
        text += "\nconsumer " + consumer + ' ' + std::to_string(held->seen_ms) + ' ' +
                std::to_string(held->pending.size());
      }
      for (const auto& [id, entry] : group->pending) {
        text += "\npending " + id.to_string() + ' ' + entry.consumer->name + ' ' +
                std::to_string(entry.delivered_ms) + ' ' + std::to_string(entry.deliveries);
      }
    }
    return text;
  }

  /// Creates a stream with groups, consumers, pending and deleted entries.
  Object& make_stream() {
    Object& object = streams::create(db(), "x");
    for (std::uint64_t ms = 1; ms <= 20; ++ms) {
      const StreamField fields[] = {{"n", "5"}, {"t", ms % 2 == 0 ? "text" : "7"}};
      EXPECT_TRUE(streams::append(db(), object, {ms, 0}, fields).ok());
    }
    std::uint64_t erased = 0;
    const StreamId deleted[] = {{5, 0}, {20, 0}};
    EXPECT_TRUE(streams::erase(db(), object, deleted, erased).ok());
    StreamGroup& group = streams::create_group(db(), object, "g", {3, 0}, 3);
    keyspace_->set_now_ms(1'000);
    StreamConsumer& consumer = streams::create_consumer(db(), object, group, "c");
    streams::create_consumer(db(), object, group, "idle");
    streams::assign_pending(db(), object, group, {2, 0}, {&consumer, 900, 3});
    streams::create_group(db(), object, "other", {}, StreamGroup::kEntriesReadUnknown);
    keyspace_->set_now_ms(2'000);
    return object;
  }

  MemoryStore store_{{.keep_state = true}};
  std::unique_ptr<Keyspace> keyspace_;
};

TEST_F(CopiesTest, StreamCopyIsEqualAndDurable) {
  const std::string expected = described(make_stream().stream());
  ASSERT_TRUE(copy_object(*db().find("x"), db(3), "y").ok());
  EXPECT_EQ(described(db(3).find("y")->stream()), expected);
  commit_and_reopen();
  EXPECT_EQ(described(db(3).find("y")->stream()), expected);
  EXPECT_EQ(described(db().find("x")->stream()), expected);
}

TEST_F(CopiesTest, StreamCopyCanBeUndone) {
  make_stream();
  ASSERT_TRUE(keyspace_->commit().ok());
  const std::string expected = described(db().find("x")->stream());
  ASSERT_TRUE(copy_object(*db().find("x"), db(), "y").ok());
  keyspace_->changes().roll_back_to({});
  EXPECT_EQ(db().find("y"), nullptr);
  EXPECT_EQ(described(db().find("x")->stream()), expected);
  commit_and_reopen();
  EXPECT_EQ(db().find("y"), nullptr);
}

TEST_F(CopiesTest, CopyIsIndependent) {
  Object& hash = hashes::create(db(), "h");
  hashes::set(db(), hash, "f", "v");
  db().set_expiry(hash, 100'000);
  ASSERT_TRUE(copy_object(hash, db(), "copy").ok());
  hashes::set(db(), hash, "f", "w");
  commit_and_reopen();
  EXPECT_EQ(db().find("copy")->hash().find("f"), "v");
  EXPECT_EQ(db().find("copy")->expire_at_ms(), 100'000);
}

TEST_F(CopiesTest, CopyTakesOneUndoStep) {
  constexpr int kCount = 1'000;
  Object& set = sets::create(db(), "set");
  Object& hash = hashes::create(db(), "hash");
  Object& list = lists::create(db(), "list");
  Object& sorted_set = sorted_sets::create(db(), "zset");
  for (int i = 0; i < kCount; ++i) {
    const std::string text = "member" + std::to_string(i);
    sets::add(db(), set, i % 2 == 0 ? text : std::to_string(i));
    hashes::set(db(), hash, text, text);
    lists::push(db(), list, lists::End::kTail, text);
    sorted_sets::set(db(), sorted_set, text, i);
  }
  for (const char* const key : {"set", "hash", "list", "zset"}) {
    const std::size_t before = keyspace_->changes().savepoint().undo_steps;
    ASSERT_TRUE(copy_object(*db().find(key), db(1), key).ok());
    EXPECT_LE(keyspace_->changes().savepoint().undo_steps - before, 2U) << key;
  }
  keyspace_->changes().roll_back_to({});
  EXPECT_EQ(db(1).size(), 0U);
}

TEST_F(CopiesTest, CopyOfLargeSetBuffersNoMembers) {
  constexpr int kCount = 20'000;
  Object& set = sets::create(db(), "set");
  for (int i = 0; i < kCount; ++i) {
    sets::add(db(), set, std::to_string(i));
    sets::add(db(), set, "vip" + std::to_string(i));
  }
  ASSERT_TRUE(keyspace_->commit().ok());
  ASSERT_TRUE(copy_object(set, db(), "copy").ok());
  EXPECT_LE(db().find("copy")->set().records().buffered(), SetRecords::kSegmentMembersMax);
  commit_and_reopen();
  const SetValue& copy = db().find("copy")->set();
  EXPECT_EQ(copy.size(), 2U * kCount);
  db().find("set")->set().for_each(
      [&](std::string_view member) { EXPECT_TRUE(copy.contains(member)); });
}

TEST_F(CopiesTest, ChangeAfterSavepointIsUndoneOnCopy) {
  Object& set = sets::create(db(), "set");
  sets::add(db(), set, "a");
  ASSERT_TRUE(copy_object(set, db(), "copy").ok());
  const Changes::Savepoint savepoint = keyspace_->changes().savepoint();
  sets::add(db(), *db().find("copy"), "b");
  keyspace_->changes().roll_back_to(savepoint);
  EXPECT_FALSE(db().find("copy")->set().contains("b"));
  EXPECT_TRUE(db().find("copy")->set().contains("a"));
}

// ---- Encodings ----

TEST_F(CopiesTest, LargeEncodingLastsUntilReopened) {
  Object& hash = hashes::create(db(), "h");
  hashes::set(db(), hash, "f", std::string(65, 'x'));
  hashes::set(db(), hash, "f", "v");
  Object& set = sets::create(db(), "s");
  sets::add(db(), set, "1");
  sets::add(db(), set, "x");
  sets::remove(db(), set, "x");
  EXPECT_EQ(encoding("h"), "hashtable");
  EXPECT_EQ(encoding("s"), "hashtable");
  ASSERT_TRUE(copy_object(hash, db(), "h2").ok());
  ASSERT_TRUE(copy_object(set, db(), "s2").ok());
  EXPECT_EQ(encoding("h2"), "hashtable");
  EXPECT_EQ(encoding("s2"), "hashtable");
  commit_and_reopen();
  EXPECT_EQ(encoding("h"), "listpack");
  EXPECT_EQ(encoding("s"), "intset");
}

TEST_F(CopiesTest, LargeValueIsLargeAfterReopening) {
  Object& field = hashes::create(db(), "field");
  hashes::set(db(), field, std::string(65, 'x'), "v");
  Object& many = hashes::create(db(), "many");
  Object& set = sets::create(db(), "set");
  for (int i = 0; i <= 512; ++i) {
    hashes::set(db(), many, std::to_string(i), "v");
    sets::add(db(), set, std::to_string(i));
  }
  commit_and_reopen();
  EXPECT_EQ(encoding("field"), "hashtable");
  EXPECT_EQ(encoding("many"), "hashtable");
  EXPECT_EQ(encoding("set"), "hashtable");
}

TEST_F(CopiesTest, RollbackRestoresEncoding) {
  Object& hash = hashes::create(db(), "h");
  hashes::set(db(), hash, "f", "v");
  Object& set = sets::create(db(), "s");
  sets::add(db(), set, "1");
  strings::set(db(), "t", StringValue("text"));
  const auto savepoint = keyspace_->changes().savepoint();
  hashes::set(db(), hash, "f", std::string(65, 'x'));
  hashes::set(db(), hash, "f", "w");
  sets::add(db(), set, "x");
  sets::remove(db(), set, "x");
  strings::overwrite(db(), *db().find("t"), 4, "x");
  EXPECT_EQ(encoding("h"), "hashtable");
  EXPECT_EQ(encoding("s"), "hashtable");
  EXPECT_EQ(encoding("t"), "raw");
  keyspace_->changes().roll_back_to(savepoint);
  EXPECT_EQ(encoding("h"), "listpack");
  EXPECT_EQ(encoding("s"), "intset");
  EXPECT_EQ(encoding("t"), "embstr");
}

TEST_F(CopiesTest, RaisedLimitLeavesEncodingLarge) {
  EncodingLimits limits;
  limits.set_integers = 5;
  keyspace_->set_limits(limits);
  Object& set = sets::create(db(), "s");
  for (int i = 0; i < 10; ++i) sets::add(db(), set, std::to_string(i));
  limits.set_integers = 100;
  keyspace_->set_limits(limits);
  EXPECT_EQ(encoding("s"), "hashtable");
}

TEST_F(CopiesTest, LoweredLimitAffectsOnlyGrowth) {
  Object& set = sets::create(db(), "s");
  for (int i = 0; i < 10; ++i) sets::add(db(), set, std::to_string(i));
  EncodingLimits limits;
  limits.set_integers = 5;
  keyspace_->set_limits(limits);
  EXPECT_EQ(encoding("s"), "intset");
  const auto savepoint = keyspace_->changes().savepoint();
  sets::remove(db(), set, "1");
  EXPECT_EQ(encoding("s"), "intset");
  sets::add(db(), set, "1");
  EXPECT_EQ(encoding("s"), "hashtable");
  keyspace_->changes().roll_back_to(savepoint);
  EXPECT_EQ(encoding("s"), "intset");
}

}  // namespace
}  // namespace rushgate
