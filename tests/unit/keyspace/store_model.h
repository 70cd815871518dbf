// Changes one object at random on any store, and compares it with a simple model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "engine/redis/keyspace/keyspace.h"
#include <rushgate/random_seed.h>
#include <rushgate/testing_stores.h>

namespace rushgate {

/// Makes batches of changes. Rolls some back in part, loses some in a failed commit, and sometimes
/// reloads all data. `Contents` are the object's, as a container.
template <class Contents>
class StoreModel {
 public:
  /// Opens the same store each time. The previous one is closed by then.
  using OpenStore = std::function<std::unique_ptr<Store>()>;

  virtual ~StoreModel() = default;
  StoreModel(const StoreModel&) = delete;
  StoreModel& operator=(const StoreModel&) = delete;

  void run(int groups) {
    SCOPED_TRACE(seed_text(seed_));
    for (int group = 0; group < groups && !::testing::Test::HasFailure(); ++group) {
      SCOPED_TRACE("group " + std::to_string(group));
      run_group();
      EXPECT_EQ(contents(), expected_);
      if (below(5) != 0) continue;
      check_records(records());
      reopen();
      EXPECT_EQ(contents(), expected_);
    }
  }

 protected:
  /// Makes fewer than `changes_max` changes in each part of a batch.
  StoreModel(OpenStore open_store, std::size_t changes_max)
      : changes_max_(changes_max), open_store_(std::move(open_store)) {
    reopen();
  }

  /// Changes the object at kObjectKey, and expected_ alike.
  virtual void change() = 0;
  virtual Contents contents() = 0;
  /// Checks the number of state records in the store.
  virtual void check_records(std::size_t records) = 0;

  std::size_t below(std::size_t bound) { return random_() % bound; }
  std::uint64_t any_number() { return random_(); }
  Database& db() { return keyspace_->db(0); }
  Object* object() { return db().find(kObjectKey); }

  static constexpr std::string_view kObjectKey = "k";
  Contents expected_;

 private:
  void reopen() {
    keyspace_.reset();
    store_.reset();
    store_ = std::make_unique<faults::FaultyStore>(open_store_());
    keyspace_ = std::make_unique<Keyspace>(*store_, 1);
    ASSERT_TRUE(keyspace_->load().ok());
  }

  void run_group() {
    const Contents before = expected_;
    change_often(below(changes_max_));
    if (below(4) == 0) {
      const Contents kept = expected_;
      const auto savepoint = keyspace_->changes().savepoint();
      change_often(below(changes_max_));
      keyspace_->changes().roll_back_to(savepoint);
      expected_ = kept;
      EXPECT_EQ(contents(), expected_);
      change_often(below(10));
    }
    if (below(6) == 0) store_->fail_commit(1, faults::FaultyStore::Kept::kNo);
    if (!keyspace_->commit().ok()) expected_ = before;
    store_->fail_commit(1'000'000, faults::FaultyStore::Kept::kNo);
  }

  void change_often(std::size_t changes) {
    for (std::size_t i = 0; i < changes; ++i) change();
  }

  /// Returns the number of state records in the store. Closes the store, since it can be loaded
  /// only once.
  std::size_t records() {
    std::size_t count = 0;
    keyspace_.reset();
    store_.reset();
    EXPECT_TRUE(open_store_()->load([&](std::string_view, std::string_view) { ++count; }).ok());
    return count;
  }

  const std::size_t changes_max_;
  const OpenStore open_store_;
  const std::uint64_t seed_ = random_seed();
  std::mt19937_64 random_{seed_};
  std::unique_ptr<faults::FaultyStore> store_;
  std::unique_ptr<Keyspace> keyspace_;
};

}  // namespace rushgate
