#include "engine/redis/keyspace/database.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "engine/redis/keyspace/hashes.h"
#include "engine/redis/keyspace/keyspace.h"
#include "engine/redis/keyspace/records.h"
#include "engine/redis/keyspace/sets.h"
#include "engine/redis/keyspace/sorted_sets.h"
#include "engine/redis/keyspace/strings.h"
#include "tests/support/null_store.h"
#include <rushgate/memory_store.h>
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

/// Returns the status of loading a store that holds headers of hashes with these keys and ids.
absl::Status load_hashes(const std::map<std::string, std::uint64_t>& ids) {
  MemoryStore store({.keep_state = true});
  StoreBatch batch;
  for (const auto& [name, id] : ids) {
    std::string key;
    write_header_key(0, name, key);
    const std::unique_ptr<Object> hash = Object::make(name, HashValue(1));
    hash->id = id;
    std::string value;
    write_header_value(*hash, value);
    batch.put(key, value);
  }
  EXPECT_TRUE(store.commit(batch).ok());
  return Keyspace(store, 1).load();
}

TEST(DatabaseTest, ObjectsWithSharedIdAreNotLoaded) {
  EXPECT_TRUE(load_hashes({{"a", 1}, {"b", 2}}).ok());
  EXPECT_TRUE(absl::IsDataLoss(load_hashes({{"a", 1}, {"b", 1}})));
}

TEST(DatabaseTest, UnassignedIdIsNotLoaded) {
  EXPECT_TRUE(absl::IsDataLoss(load_hashes({{"a", std::uint64_t{1} << 63}})));
}

/// find() caches recent objects, so every change must keep its cache valid.
TEST(DatabaseTest, FindMatchesModelAfterChangesAndRollbacks) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  MemoryStore store;
  Keyspace keyspace(store, seed);
  Database& db = keyspace.db(0);
  std::map<std::string, std::int64_t> expected;
  const auto any_key = [&] { return "k" + std::to_string(random() % 30); };
  const auto expect_all = [&] {
    for (int i = 0; i < 30; ++i) {
      const std::string key = "k" + std::to_string(i);
      Object* const object = db.find(key);
      const auto known = expected.find(key);
      ASSERT_EQ(object != nullptr, known != expected.end()) << key;
      if (object == nullptr) continue;
      ASSERT_EQ(object->string().integer(), known->second);
    }
  };
  const auto change = [&] {
    const std::string key = any_key();
    const std::size_t kind = random() % 8;
    if (kind == 0) {
      db.remove_all();
      expected.clear();
    } else if (Object* const object = db.find(key); object != nullptr && kind < 4) {
      db.remove(*object);
      expected.erase(key);
    } else {
      const auto value = static_cast<std::int64_t>(random() % 1'000);
      strings::set(db, key, StringValue(value));
      expected[key] = value;
    }
  };
  for (int step = 0; step < 2'000; ++step) {
    const auto before = expected;
    const Changes::Savepoint savepoint = keyspace.changes().savepoint();
    for (std::size_t changes = random() % 4; changes > 0; --changes) {
      change();
      if (random() % 2 == 0) db.find(any_key());
    }
    if (random() % 3 == 0) {
      keyspace.changes().roll_back_to(savepoint);
      expected = before;
    }
    expect_all();
    if (random() % 2 == 0) {
      ASSERT_TRUE(keyspace.commit().ok());
    }
  }
}

TEST(DatabaseTest, RenamedObjectHasTheNewKey) {
  NullStore store;
  Keyspace keyspace(store, 1);
  Database& db = keyspace.db(0);
  constexpr std::array<std::size_t, 7> kSizes = {0, 1, 8, 9, 254, 255, 300};
  for (const std::size_t old_size : kSizes) {
    for (const std::size_t new_size : kSizes) {
      const std::string old_key(old_size, 'a');
      const std::string new_key = std::string(new_size, 'b') + 'c';
      Object& object = strings::set(db, old_key, StringValue("value"));
      const Changes::Savepoint savepoint = keyspace.changes().savepoint();
      const std::size_t bytes = object.memory_bytes();
      db.move(object, db, new_key);
      EXPECT_EQ(db.find(old_key), nullptr);
      ASSERT_EQ(db.find(new_key), &object);
      db.move(object, db, old_key + "d");
      EXPECT_EQ(object.key(), old_key + "d");
      EXPECT_EQ(object.string().text(), "value");
      keyspace.changes().roll_back_to(savepoint);
      ASSERT_EQ(db.find(old_key), &object);
      EXPECT_EQ(object.memory_bytes(), bytes);
      db.remove(object);
    }
  }
}

/// Counts the bytes of committed records.
class RecordBytes final : public NullStore {
 public:
  explicit RecordBytes(bool keeps_state) : keeps_state_(keeps_state) {}
  absl::Status commit(const StoreBatch& batch) override {
    bytes += batch.size_bytes();
    return absl::OkStatus();
  }
  [[nodiscard]] bool keeps_state() const override { return keeps_state_; }

  std::size_t bytes = 0;

 private:
  const bool keeps_state_;
};

TEST(DatabaseTest, StoreThatDropsStateGetsNoStateRecords) {
  for (const bool keeps_state : {false, true}) {
    RecordBytes store(keeps_state);
    Keyspace keyspace(store, 1);
    Database& db = keyspace.db(0);
    db.set_expiry(strings::set(db, "string", StringValue("value")), 5);
    Object& hash = hashes::create(db, "hash");
    hashes::set(db, hash, "field", "value");
    hashes::set(db, hash, "other", "value");
    hashes::remove(db, hash, "other");
    sorted_sets::set(db, sorted_sets::create(db, "sorted set"), "member", 1.5);
    sets::add(db, sets::create(db, "set"), "member");
    ASSERT_TRUE(keyspace.commit().ok());
    EXPECT_EQ(store.bytes > 0, keeps_state);
    store.bytes = 0;
    db.remove(hash);
    db.remove_all();
    ASSERT_TRUE(keyspace.commit().ok());
    EXPECT_EQ(store.bytes > 0, keeps_state);
  }
}

/// Keys of two databases, some of which expire, and a model of them.
class ExpiryIndexTest : public ::testing::Test {
 protected:
  using Times = std::map<std::string, std::int64_t>;  // of keys; kNoExpiry: none

  static constexpr std::int64_t kSpanMs = 20;  // short, so that many times are equal

  std::int64_t any_time() { return static_cast<std::int64_t>(random_() % kSpanMs) + 1; }
  Database& db(std::size_t number) { return keyspace_.db(kNumbers[number]); }

  void change() {
    const std::size_t number = random_() % kNumbers.size();
    const std::string key = "k" + std::to_string(random_() % 30);
    Times& times = expected_[number];
    Object* const object = db(number).find(key);
    const std::size_t kind = random_() % 40;
    if (kind == 0) {
      db(number).remove_all();
      times.clear();
    } else if (kind == 1) {
      db(0).swap(db(1));
      std::swap(expected_[0], expected_[1]);
    } else if (object == nullptr) {
      strings::set(db(number), key, StringValue(std::int64_t{1}));
      times[key] = kNoExpiry;
    } else if (kind < 8) {
      db(number).remove(*object);
      times.erase(key);
    } else {
      times[key] = kind < 12 ? kNoExpiry : any_time();
      db(number).set_expiry(*object, times[key]);
    }
  }

  void expect_all() {
    std::optional<std::int64_t> next;
    for (std::size_t number = 0; number < kNumbers.size(); ++number) {
      std::size_t expiring = 0;
      std::int64_t sum = 0;
      for (const auto& [key, time] : expected_[number]) {
        if (time == kNoExpiry) continue;
        ++expiring;
        sum += time;
        next = std::min(time, next.value_or(time));
      }
      ASSERT_EQ(db(number).expiring(), expiring);
      ASSERT_EQ(db(number).average_ttl_ms(),
                expiring == 0 ? 0 : sum / static_cast<std::int64_t>(expiring));
    }
    ASSERT_EQ(keyspace_.next_expiry_ms(), next);
  }

  static constexpr std::array<std::size_t, 2> kNumbers = {0, 5};
  const std::uint64_t seed_ = random_seed();
  std::mt19937_64 random_{seed_};
  MemoryStore store_;
  Keyspace keyspace_{store_, seed_};
  std::array<Times, 2> expected_;
};

TEST_F(ExpiryIndexTest, IndexMatchesModelAfterChangesAndRollbacks) {
  SCOPED_TRACE(seed_text(seed_));
  for (int step = 0; step < 2'000; ++step) {
    const auto before = expected_;
    const Changes::Savepoint savepoint = keyspace_.changes().savepoint();
    for (std::size_t changes = random_() % 8; changes > 0; --changes) change();
    if (random_() % 3 == 0) {
      keyspace_.changes().roll_back_to(savepoint);
      expected_ = before;
    }
    expect_all();
    if (random_() % 2 == 0) {
      ASSERT_TRUE(keyspace_.commit().ok());
    }
  }
}

TEST_F(ExpiryIndexTest, KeysExpireInOrderOfTime) {
  SCOPED_TRACE(seed_text(seed_));
  for (int changes = 0; changes < 500; ++changes) change();
  keyspace_.set_now_ms(kSpanMs);
  std::int64_t time = 0;
  while (const auto next = keyspace_.next_expiry_ms()) {
    ASSERT_LE(time, *next);
    time = *next;
    ASSERT_EQ(keyspace_.remove_expired(1), 1U);
  }
  for (std::size_t number = 0; number < kNumbers.size(); ++number) {
    EXPECT_EQ(db(number).expiring(), 0U);
    std::erase_if(expected_[number], [](const auto& entry) { return entry.second != kNoExpiry; });
    EXPECT_EQ(db(number).size(), expected_[number].size());
  }
}

}  // namespace
}  // namespace rushgate
