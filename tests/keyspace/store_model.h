// Random changes to one object, compared with the simplest model of it, on any store.
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

#include "adapters/testing/faulty_store.h"
#include "engine/keyspace/keyspace.h"
#include "tests/random_seed.h"

namespace rushgate {

/// Groups of changes: some are taken back in part, some are lost with a commit that fails, and now
/// and then everything is loaded again. `Contents` are the object's, as a container.
template <class Contents>
class StoreModel {
 public:
  /// Opens the same store each time; the one before is gone by then.
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
  /// A part of a group has fewer than `changes_max` changes.
  StoreModel(OpenStore open_store, std::size_t changes_max)
      : changes_max_(changes_max), open_store_(std::move(open_store)) {
    reopen();
  }

  /// Changes the object at kObjectKey, and expected_ with it.
  virtual void change() = 0;
  virtual Contents contents() = 0;
  /// Of how many records there are in the store's state.
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
      const auto mark = keyspace_->changes().mark();
      change_often(below(changes_max_));
      keyspace_->changes().roll_back_to(mark);
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

  /// Of its state, in the store, which is closed for it: a store is loaded once.
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
