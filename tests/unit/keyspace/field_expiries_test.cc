#include "engine/redis/keyspace/field_expiries.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "engine/redis/keyspace/copies.h"
#include "engine/redis/keyspace/hashes.h"
#include "engine/redis/keyspace/keyspace.h"
#include "engine/redis/keyspace/records.h"
#include "tests/unit/keyspace/keyspace_dump.h"
#include <rushgate/memory_store.h>
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

using FieldNames = std::vector<std::string>;

/// Changes hashes of a keyspace that can be reopened.
class FieldExpiriesTest : public ::testing::Test {
 protected:
  static constexpr std::int64_t kStartMs = 1'000;

  FieldExpiriesTest() { EXPECT_TRUE(reopen().ok()); }
  void TearDown() override {
    EXPECT_EQ(keyspace_->changes().memory().bytes(), measured_bytes(*keyspace_));
  }

  absl::Status reopen() {
    const std::int64_t now_ms = keyspace_ == nullptr ? kStartMs : keyspace_->now_ms();
    keyspace_ = std::make_unique<Keyspace>(store_, 1);
    keyspace_->set_now_ms(now_ms);
    return keyspace_->load();
  }
  void commit() { ASSERT_TRUE(keyspace_->commit().ok()); }
  void commit_and_reopen() {
    commit();
    const auto lines = dump(*keyspace_);
    ASSERT_TRUE(reopen().ok());
    EXPECT_EQ(dump(*keyspace_), lines);
  }
  void advance_ms(std::int64_t duration_ms) {
    keyspace_->set_now_ms(keyspace_->now_ms() + duration_ms);
  }

  Database& db(std::size_t number = 0) { return keyspace_->db(number); }
  Object* find(std::string_view key = "h") { return db().find(key); }
  void set(std::string_view field, std::string_view value = "v") {
    if (find() == nullptr) hashes::create(db(), "h");
    hashes::set(db(), *find(), field, value);
  }
  void expire_in_ms(std::string_view field, std::int64_t duration_ms) {
    hashes::set_expiry(db(), *find(), field, keyspace_->now_ms() + duration_ms);
  }
  /// Adds the fields "f1" to "f<count>", which expire after as many ms.
  void set_expiring(int count) {
    for (int i = 1; i <= count; ++i) {
      const std::string field = "f" + std::to_string(i);
      set(field);
      expire_in_ms(field, i);
    }
  }
  FieldNames fields() {
    FieldNames fields;
    if (Object* const hash = find()) {
      hash->hash().for_each(
          [&](std::string_view field, std::string_view) { fields.emplace_back(field); });
    }
    return fields;
  }
  std::size_t records() {
    std::size_t count = 0;
    EXPECT_TRUE(store_.load([&](std::string_view, std::string_view) { ++count; }).ok());
    return count;
  }

  MemoryStore store_{{.keep_state = true}};
  std::unique_ptr<Keyspace> keyspace_;
};

TEST_F(FieldExpiriesTest, ExpiriesSurviveReopening) {
  set("stays");
  set("17", "3");
  set_expiring(2);
  expire_in_ms("17", 50);
  commit_and_reopen();
  EXPECT_EQ(find()->hash().expiry("f2"), kStartMs + 2);
  EXPECT_EQ(find()->hash().expiry("17"), kStartMs + 50);
  EXPECT_EQ(find()->hash().expiry("stays"), std::nullopt);
  EXPECT_EQ(keyspace_->next_expiry_ms(), kStartMs + 1);
}

TEST_F(FieldExpiriesTest, SettingFieldRemovesExpiry) {
  set_expiring(2);
  commit_and_reopen();
  set("f1", "new");
  hashes::set_keeping_expiry(db(), *find(), "f2", "new");
  EXPECT_EQ(find()->hash().expiry("f1"), std::nullopt);
  EXPECT_EQ(find()->hash().expiry("f2"), kStartMs + 2);
  EXPECT_EQ(keyspace_->next_expiry_ms(), kStartMs + 2);
  commit_and_reopen();
  EXPECT_EQ(records(), 4U);
}

TEST_F(FieldExpiriesTest, RemovedFieldLeavesNoExpiry) {
  set("stays");
  set_expiring(1);
  commit();
  hashes::remove(db(), *find(), "f1");
  set("f1");
  EXPECT_EQ(find()->hash().expiry("f1"), std::nullopt);
  EXPECT_EQ(keyspace_->next_expiry_ms(), std::nullopt);
  commit_and_reopen();
}

TEST_F(FieldExpiriesTest, RemovedHashLeavesNoRecord) {
  for (const int count : {3, 200}) {
    set_expiring(count);
    commit();
    EXPECT_EQ(records(), 2U * static_cast<std::size_t>(count) + 1);
    db().remove(*find());
    EXPECT_EQ(keyspace_->next_expiry_ms(), std::nullopt);
    commit();
    EXPECT_EQ(records(), 0U);
  }
}

TEST_F(FieldExpiriesTest, FindRemovesExpiredFields) {
  set("stays");
  set_expiring(3);
  advance_ms(1);
  EXPECT_EQ(fields(), (FieldNames{"stays", "f2", "f3"}));
  advance_ms(2);
  EXPECT_EQ(fields(), FieldNames{"stays"});
  EXPECT_EQ(keyspace_->next_expiry_ms(), std::nullopt);
  commit_and_reopen();
  EXPECT_EQ(records(), 2U);
}

TEST_F(FieldExpiriesTest, LastExpiredFieldRemovesKey) {
  set_expiring(100);
  commit();
  advance_ms(100);
  EXPECT_TRUE(db().has_expired(db().draw(keyspace_->random())));
  EXPECT_EQ(find(), nullptr);
  commit();
  EXPECT_EQ(records(), 0U);
}

TEST_F(FieldExpiriesTest, ActiveRemovalIsBounded) {
  set("stays");
  set_expiring(5);
  advance_ms(4);
  EXPECT_EQ(keyspace_->remove_expired(3), 3U);
  EXPECT_EQ(keyspace_->next_expiry_ms(), kStartMs + 4);
  EXPECT_EQ(keyspace_->remove_expired(3), 1U);
  EXPECT_EQ(keyspace_->remove_expired(3), 0U);
  EXPECT_EQ(keyspace_->next_expiry_ms(), kStartMs + 5);
  EXPECT_EQ(fields(), (FieldNames{"stays", "f5"}));
  advance_ms(1);
  EXPECT_EQ(keyspace_->remove_expired(3), 1U);
  EXPECT_EQ(keyspace_->next_expiry_ms(), std::nullopt);
}

TEST_F(FieldExpiriesTest, KeyExpiresBeforeItsFields) {
  set_expiring(2);
  db().set_expiry(*find(), kStartMs + 1);
  advance_ms(5);
  EXPECT_EQ(keyspace_->remove_expired(10), 1U);
  EXPECT_EQ(keyspace_->counts().expired, 1U);
  EXPECT_EQ(db().size(), 0U);
}

TEST_F(FieldExpiriesTest, RollbackRestoresExpiries) {
  set("stays");
  set_expiring(3);
  commit();
  const auto lines = dump(*keyspace_);
  const auto next_ms = keyspace_->next_expiry_ms();
  const Changes::Savepoint before = keyspace_->changes().savepoint();
  expire_in_ms("f1", 70);
  set("f2");
  expire_in_ms("f2", 80);
  expire_in_ms("stays", -1);
  hashes::set_expiry(db(), *find(), "f3", std::nullopt);
  hashes::remove(db(), *find(), "f1");
  advance_ms(80);
  EXPECT_EQ(fields(), FieldNames{"f3"});
  db().remove(*find());
  keyspace_->changes().roll_back_to(before);
  EXPECT_EQ(dump(*keyspace_), lines);
  EXPECT_EQ(keyspace_->next_expiry_ms(), next_ms);
  EXPECT_EQ(fields(), FieldNames{"stays"});
}

TEST_F(FieldExpiriesTest, RollbackReleasesFirstExpiry) {
  set("f");
  commit();
  const std::size_t bytes = keyspace_->changes().memory().bytes();
  const Changes::Savepoint before = keyspace_->changes().savepoint();
  expire_in_ms("f", 5);
  EXPECT_GT(keyspace_->changes().memory().bytes(), bytes);
  keyspace_->changes().roll_back_to(before);
  EXPECT_EQ(keyspace_->changes().memory().bytes(), bytes);
  EXPECT_EQ(find()->hash().expiries(), nullptr);
}

TEST_F(FieldExpiriesTest, CommitReleasesLastExpiry) {
  set("f");
  set("a long name of a field, on the heap");
  commit();
  const std::size_t bytes = keyspace_->changes().memory().bytes();
  for (const char* const field : {"f", "a long name of a field, on the heap"}) {
    expire_in_ms(field, 5);
    commit();
    EXPECT_GT(keyspace_->changes().memory().bytes(), bytes);
    hashes::set_expiry(db(), *find(), field, std::nullopt);
    commit();
    EXPECT_EQ(keyspace_->changes().memory().bytes(), bytes);
    EXPECT_EQ(find()->hash().expiries(), nullptr);
  }
}

TEST_F(FieldExpiriesTest, MovedHashKeepsExpiries) {
  set_expiring(2);
  commit();
  db().move(*find(), db(1), "other");
  EXPECT_EQ(db().next_expiry_ms(), std::nullopt);
  EXPECT_EQ(db(1).next_expiry_ms(), kStartMs + 1);
  db(1).swap(db(2));
  EXPECT_EQ(db(1).next_expiry_ms(), std::nullopt);
  EXPECT_EQ(keyspace_->next_expiry_ms(), kStartMs + 1);
  commit_and_reopen();
  advance_ms(1);
  EXPECT_EQ(db(2).find("other")->hash().size(), 1U);
  advance_ms(1);
  EXPECT_EQ(keyspace_->remove_expired(9), 1U);
  EXPECT_EQ(db(2).size(), 0U);
}

TEST_F(FieldExpiriesTest, CopyHasItsOwnExpiries) {
  set("stays");
  set_expiring(2);
  EXPECT_TRUE(copy_object(*find(), db(), "copy").ok());
  hashes::set_expiry(db(), *find(), "f1", std::nullopt);
  commit_and_reopen();
  advance_ms(1);
  EXPECT_EQ(find("copy")->hash().size(), 2U);
  EXPECT_EQ(find("h")->hash().size(), 3U);
}

TEST_F(FieldExpiriesTest, UndoneFlushRestoresExpiries) {
  set("stays");
  set_expiring(2);
  commit();
  const Changes::Savepoint before = keyspace_->changes().savepoint();
  keyspace_->remove_all();
  EXPECT_EQ(keyspace_->next_expiry_ms(), std::nullopt);
  keyspace_->changes().roll_back_to(before);
  EXPECT_EQ(keyspace_->next_expiry_ms(), kStartMs + 1);
  advance_ms(1);
  EXPECT_EQ(fields(), (FieldNames{"stays", "f2"}));
}

TEST_F(FieldExpiriesTest, KeptFieldsAreHiddenFromReads) {
  for (const bool is_large : {false, true}) {
    set("stays");
    set("17", "3");
    expire_in_ms("17", 1);
    set_expiring(3);
    if (is_large) set("large", std::string(100, 'x'));
    commit();
    const auto lines = dump(*keyspace_);
    const std::uint64_t revision = find()->revision;
    advance_ms(2);
    keyspace_->set_keeps_expired(true);
    EXPECT_EQ(find()->hash().size(), is_large ? 3U : 2U);
    EXPECT_FALSE(find()->hash().contains("17"));
    EXPECT_TRUE(find()->hash().contains("f3"));
    keyspace_->set_keeps_expired(false);
    EXPECT_EQ(dump(*keyspace_), lines);
    EXPECT_TRUE(keyspace_->changes().empty());
    EXPECT_EQ(keyspace_->next_expiry_ms(), keyspace_->now_ms() - 1);
    keyspace_->set_now_ms(keyspace_->now_ms() - 2);
    EXPECT_EQ(find()->revision, revision);
    db().remove(*find());
  }
}

TEST_F(FieldExpiriesTest, KeptHashOfExpiredFieldsIsMissing) {
  set_expiring(3);
  commit();
  advance_ms(3);
  keyspace_->set_keeps_expired(true);
  EXPECT_EQ(find(), nullptr);
  keyspace_->set_keeps_expired(false);
  EXPECT_EQ(db().size(), 1U);
  EXPECT_EQ(find(), nullptr);
  EXPECT_EQ(db().size(), 0U);
}

TEST_F(FieldExpiriesTest, WatchSeesExpiredField) {
  set("stays");
  set_expiring(1);
  const WatchedKey watched = db().watch("h");
  EXPECT_FALSE(db().has_changed(watched));
  advance_ms(1);
  EXPECT_TRUE(db().has_changed(watched));
}

TEST_F(FieldExpiriesTest, WatchIgnoresFieldThatHadExpired) {
  set("stays");
  set_expiring(1);
  advance_ms(1);
  const WatchedKey watched = db().watch("h");
  EXPECT_FALSE(db().has_changed(watched));
}

// ---- Hidden fields of large hashes ----

/// A large hash with the field "stays" and 300 fields "e<i>" that expire together, after 10 ms.
class HiddenFieldsTest : public FieldExpiriesTest {
 protected:
  static constexpr std::size_t kExpiring = 300;

  HiddenFieldsTest() {
    set("stays", std::string(100, 'x'));
    for (std::size_t i = 0; i < kExpiring; ++i) {
      set(name(i));
      expire_in_ms(name(i), 10);
    }
    commit();
  }
  static std::string name(std::size_t i) { return "e" + std::to_string(i); }
  /// Returns the hash after the fields have expired.
  HashValue& expired() {
    advance_ms(10);
    return find()->hash();
  }
};

TEST_F(HiddenFieldsTest, FindRemovesFewAndHidesAll) {
  const std::uint32_t revision = find()->revision;
  HashValue& hash = expired();
  EXPECT_EQ(find()->revision, revision + 1);
  EXPECT_GT(hash.stored_size(), kExpiring - 50);
  EXPECT_EQ(hash.size(), 1U);
  EXPECT_EQ(fields(), FieldNames{"stays"});
  EXPECT_FALSE(hash.contains("e299"));
  EXPECT_EQ(hash.find("e299"), std::nullopt);
  EXPECT_EQ(hash.expiry("e299"), std::nullopt);
  EXPECT_FALSE(hash.has_expiries());
  EXPECT_EQ(hash.draw(keyspace_->random()), "stays");
  EXPECT_EQ(keyspace_->next_expiry_ms(), kStartMs + 10);
}

TEST_F(HiddenFieldsTest, ActiveRemovalTakesHiddenFields) {
  HashValue& hash = expired();
  const std::uint32_t revision = find()->revision;
  std::size_t removed = 0;
  while (const std::size_t count = keyspace_->remove_expired(20)) {
    EXPECT_LE(count, 20U);
    removed += count;
    EXPECT_EQ(hash.size(), 1U);
  }
  EXPECT_GT(removed, kExpiring / 2);
  EXPECT_EQ(hash.stored_size(), 1U);
  EXPECT_EQ(find()->revision, revision) << "no visible change";
  commit_and_reopen();
  EXPECT_EQ(records(), 2U);
}

TEST_F(HiddenFieldsTest, SetReplacesHiddenField) {
  HashValue& hash = expired();
  const Changes::Savepoint before = keyspace_->changes().savepoint();
  for (const std::size_t i : {298U, 299U}) EXPECT_TRUE(hashes::set(db(), *find(), name(i), "new"));
  EXPECT_EQ(hash.find("e299"), "new");
  EXPECT_EQ(hash.expiry("e299"), std::nullopt);
  EXPECT_EQ(hash.size(), 3U);
  EXPECT_FALSE(hashes::remove(db(), *find(), "e200"));
  keyspace_->changes().roll_back_to(before);
  EXPECT_EQ(hash.size(), 1U);
  EXPECT_FALSE(hash.contains("e299"));
  hashes::set(db(), *find(), "e299", "new");
  commit();
  while (keyspace_->remove_expired(100) > 0) continue;
  commit_and_reopen();
  EXPECT_EQ(find()->hash().find("e299"), "new");
}

TEST_F(HiddenFieldsTest, LastVisibleFieldTakesKeyWithIt) {
  expired();
  EXPECT_TRUE(hashes::remove(db(), *find(), "stays"));
  EXPECT_EQ(find(), nullptr);
  EXPECT_EQ(keyspace_->next_expiry_ms(), std::nullopt);
  commit();
  EXPECT_EQ(records(), 0U);
}

TEST_F(HiddenFieldsTest, RollbackShowsFieldsAgain) {
  const auto lines = dump(*keyspace_);
  const Changes::Savepoint before = keyspace_->changes().savepoint();
  EXPECT_EQ(expired().size(), 1U);
  keyspace_->changes().roll_back_to(before);
  EXPECT_EQ(dump(*keyspace_), lines);
  EXPECT_EQ(find()->hash().size(), 1U);
}

TEST_F(HiddenFieldsTest, WatchIgnoresRemovalOfHiddenFields) {
  expired();
  const WatchedKey watched = db().watch("h");
  EXPECT_FALSE(db().has_changed(watched));
  find();
  while (keyspace_->remove_expired(100) > 0) continue;
  EXPECT_FALSE(db().has_changed(watched));
}

TEST_F(HiddenFieldsTest, CopyOmitsHiddenFields) {
  expired();
  EXPECT_TRUE(copy_object(*find(), db(), "copy").ok());
  EXPECT_EQ(find("copy")->hash().stored_size(), 1U);
  EXPECT_EQ(find("copy")->hash().expiries(), nullptr);
}

TEST_F(HiddenFieldsTest, FieldsStayHiddenWhenClockGoesBack) {
  expired();
  keyspace_->set_now_ms(kStartMs);
  EXPECT_EQ(find()->hash().size(), 1U);
  expire_in_ms("stays", 5);
  EXPECT_EQ(fields(), FieldNames{"stays"});
  EXPECT_EQ(find()->hash().stored_size(), 1U);
  EXPECT_EQ(find()->hash().expiry("stays"), kStartMs + 5);
  advance_ms(5);
  EXPECT_EQ(find(), nullptr);
}

TEST(FieldExpiriesCountTest, HiddenFieldsAreCounted) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  FieldExpiries expiries;
  std::map<std::string, std::int64_t> model;
  for (int round = 0; round < 20'000; ++round) {
    const std::string field = std::to_string(random() % 50);
    const auto at_ms = static_cast<std::int64_t>(random() % 100);
    switch (random() % 5) {
      case 0:
        static_cast<void>(expiries.take(field));
        model.erase(field);
        break;
      case 1:
        expiries.set_hidden_until_ms(at_ms);
        break;
      case 2:
        expiries.roll_back(expiries.take(field));
        break;
      default:
        expiries.assign(field, at_ms);
        model[field] = at_ms;
    }
    const std::int64_t until_ms = expiries.hidden_until_ms();
    const auto hidden = static_cast<std::size_t>(std::ranges::count_if(
        model, [until_ms](const auto& entry) { return entry.second <= until_ms; }));
    ASSERT_EQ(expiries.hides_any(), hidden > 0);
    ASSERT_EQ(expiries.hides(field), model.contains(field) && model[field] <= until_ms);
    if (random() % 3 == 0) {
      ASSERT_EQ(expiries.count_hidden(), hidden);
    }
    const bool are_due = std::ranges::any_of(
        model, [&](const auto& entry) { return entry.second > until_ms && entry.second <= at_ms; });
    ASSERT_EQ(expiries.are_due(at_ms), are_due);
  }
}

TEST_F(FieldExpiriesTest, ExpiryOfMissingFieldIsDamage) {
  set("f");
  const std::uint64_t id = find()->id;
  commit();
  StoreBatch batch(true);
  put_field_expiry(batch, id, "none", kStartMs);
  ASSERT_TRUE(store_.commit(batch).ok());
  EXPECT_EQ(reopen().code(), absl::StatusCode::kDataLoss);
}

TEST_F(FieldExpiriesTest, HashesWithoutExpiriesOwnNothing) {
  set("f");
  EXPECT_EQ(find()->hash().expiries(), nullptr);
  EXPECT_EQ(db().next_expiry_ms(), std::nullopt);
  EXPECT_EQ(HashesByExpiry().next_ms(), std::numeric_limits<std::int64_t>::max());
}

}  // namespace
}  // namespace rushgate
