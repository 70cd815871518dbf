#include "engine/keyspace/database.h"

#include <cstdint>
#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "engine/keyspace/keyspace.h"
#include "engine/keyspace/records.h"
#include "engine/keyspace/strings.h"
#include "storage/memory/memory_store.h"
#include "tests/random_seed.h"

namespace rushgate {
namespace {

/// How a keyspace loads from a store that holds these headers of hashes: keys and ids.
absl::Status load_hashes(const std::map<std::string, std::uint64_t>& ids) {
  MemoryStore store({.keep_state = true});
  StoreBatch batch;
  for (const auto& [name, id] : ids) {
    std::string key;
    write_header_key(0, name, key);
    Object hash(name, HashValue(1));
    hash.id = id;
    std::string value;
    write_header_value(hash, value);
    batch.put(key, value);
  }
  EXPECT_TRUE(store.commit(batch).ok());
  return Keyspace(store, 1).load();
}

TEST(DatabaseTest, ObjectsThatShareAnIdAreNotLoaded) {
  EXPECT_TRUE(load_hashes({{"a", 1}, {"b", 2}}).ok());
  EXPECT_TRUE(absl::IsDataLoss(load_hashes({{"a", 1}, {"b", 1}})));
}

TEST(DatabaseTest, UnassignedIdIsNotLoaded) {
  EXPECT_TRUE(absl::IsDataLoss(load_hashes({{"a", std::uint64_t{1} << 63}})));
}

/// Whatever was found before: what is found now is what is there.
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
    const Changes::Mark mark = keyspace.changes().mark();
    for (std::size_t changes = random() % 4; changes > 0; --changes) {
      change();
      if (random() % 2 == 0) db.find(any_key());
    }
    if (random() % 3 == 0) {
      keyspace.changes().roll_back_to(mark);
      expected = before;
    }
    expect_all();
    if (random() % 2 == 0) {
      ASSERT_TRUE(keyspace.commit().ok());
    }
  }
}

}  // namespace
}  // namespace rushgate
