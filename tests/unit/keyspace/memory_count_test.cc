// Compares the keyspace's count of its bytes with a count from scratch.
#include "engine/redis/keyspace/memory_count.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "engine/core/base/heap.h"
#include "engine/redis/keyspace/keyspace.h"
#include "engine/redis/keyspace/strings.h"
#include "tests/unit/keyspace/keyspace_dump.h"
#include "tests/unit/keyspace/random_changes.h"
#include <rushgate/memory_store.h>
#include <rushgate/random_seed.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

class MemoryCountTest : public ::testing::Test {
 protected:
  MemoryCountTest() { reopen(); }

  void reopen() {
    keyspace_ = std::make_unique<Keyspace>(store_, 1);
    ASSERT_TRUE(keyspace_->load().ok());
  }
  Keyspace& keyspace() { return *keyspace_; }
  Database& db(std::size_t number = 0) { return keyspace_->db(number); }
  Changes& changes() { return keyspace_->changes(); }
  std::size_t bytes() { return changes().memory().bytes(); }
  void commit() { ASSERT_TRUE(keyspace_->commit().ok()); }

  MemoryStore kept_{{.keep_state = true}};
  faults::FaultyStore store_{kept_};

 private:
  std::unique_ptr<Keyspace> keyspace_;
};

TEST_F(MemoryCountTest, EmptyKeyspaceHoldsNothing) { EXPECT_EQ(bytes(), 0U); }

TEST_F(MemoryCountTest, RemovedObjectDoesNotCountUntilRestored) {
  strings::set(db(), "k", StringValue(std::string_view(std::string(1'000'000, 'x'))));
  commit();
  EXPECT_GT(bytes(), 1'000'000U);
  const Changes::Savepoint savepoint = changes().savepoint();
  db().remove(*db().find("k"));
  EXPECT_LT(bytes(), 1'000U);
  changes().roll_back_to(savepoint);
  EXPECT_GT(bytes(), 1'000'000U);
  keyspace().remove_all();
  EXPECT_EQ(bytes(), 0U);
  changes().roll_back_to(savepoint);
  EXPECT_GT(bytes(), 1'000'000U);
  EXPECT_EQ(bytes(), measured_bytes(keyspace()));
}

TEST_F(MemoryCountTest, CountExceedsAllocationsByFewBytes) {
  strings::set(db(), "k", StringValue(std::int64_t{1}));
  const std::size_t before = bytes();
  strings::set(db(), "k", StringValue(std::int64_t{2}));
  EXPECT_EQ(bytes(), before) << "all numbers take the same space";
  strings::set(db(), "k", StringValue(std::string_view("a text of more than fifteen bytes")));
  EXPECT_EQ(bytes(), before + heap_block(34));
}

TEST_F(MemoryCountTest, CountEqualsCountFromScratch) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  RandomChanges random(seed);
  const auto change_often = [&](std::size_t changes) {
    for (std::size_t i = 0; i < changes; ++i) {
      random.change(keyspace());
      if (random.below(10) != 0) continue;
      ASSERT_EQ(bytes(), measured_bytes(keyspace()));
    }
  };
  keyspace().set_now_ms(1'000);
  for (int group = 0; group < 400 && !HasFailure(); ++group) {
    SCOPED_TRACE("group " + std::to_string(group));
    change_often(random.below(60));
    if (random.below(3) == 0) {
      const std::size_t before = bytes();
      const Changes::Savepoint savepoint = changes().savepoint();
      change_often(random.below(60));
      changes().roll_back_to(savepoint);
      EXPECT_EQ(bytes(), measured_bytes(keyspace()));
      EXPECT_LT(bytes(), before + 1'000'000);
    }
    if (random.below(6) == 0) store_.fail_commit(1, faults::FaultyStore::Kept::kNo);
    static_cast<void>(keyspace().commit());
    store_.fail_commit(1'000'000, faults::FaultyStore::Kept::kNo);
    ASSERT_EQ(bytes(), measured_bytes(keyspace()));
    if (random.below(20) != 0) continue;
    const std::int64_t now_ms = keyspace().now_ms();
    reopen();
    keyspace().set_now_ms(now_ms);
    ASSERT_EQ(bytes(), measured_bytes(keyspace()));
  }
}

}  // namespace
}  // namespace rushgate
