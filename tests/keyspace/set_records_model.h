// A set in which members come and go at random, compared with the simplest model, on any store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "engine/keyspace/keyspace.h"
#include "engine/keyspace/sets.h"
#include "tests/faults/faulty_store.h"
#include "tests/random_seed.h"

namespace rushgate {

/// Groups of changes: some are taken back in part, some are lost with a commit that fails, and now
/// and then everything is loaded again.
class SetRecordsModel {
 public:
  using Members = std::set<std::string>;
  /// Opens the same store each time; the one before is gone by then.
  using OpenStore = std::function<std::unique_ptr<Store>()>;

  explicit SetRecordsModel(OpenStore open_store) : open_store_(std::move(open_store)) { reopen(); }

  void run(int groups) {
    SCOPED_TRACE(seed_text(seed_));
    for (int group = 0; group < groups && !::testing::Test::HasFailure(); ++group) {
      SCOPED_TRACE("group " + std::to_string(group));
      run_group();
      EXPECT_EQ(members(), expected_);
      if (below(5) != 0) continue;
      EXPECT_LE(records(), 2 * (expected_.size() + SetRecords::kMarksMax));
      reopen();
      EXPECT_EQ(members(), expected_);
    }
  }

  [[nodiscard]] std::size_t rewrites() const { return rewrites_; }

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }

  void reopen() {
    keyspace_.reset();
    store_.reset();
    store_ = std::make_unique<faults::FaultyStore>(open_store_());
    keyspace_ = std::make_unique<Keyspace>(*store_, 1);
    ASSERT_TRUE(keyspace_->load().ok());
  }

  void run_group() {
    const Members before = expected_;
    change(below(300));
    const bool is_taken_back = below(4) == 0;
    if (is_taken_back) {
      const Members kept = expected_;
      const auto mark = keyspace_->changes().mark();
      change(below(300));
      keyspace_->changes().roll_back_to(mark);
      expected_ = kept;
      EXPECT_EQ(members(), expected_);
      change(below(10));
    }
    if (below(6) == 0) store_->fail_commit(1, faults::FaultyStore::Kept::kNo);
    if (!keyspace_->commit().ok()) expected_ = before;
    store_->fail_commit(1'000'000, faults::FaultyStore::Kept::kNo);
  }

  void change(std::size_t changes) {
    for (std::size_t i = 0; i < changes; ++i) {
      const bool is_removal = below(expected_.size() + 200) < expected_.size();
      is_removal ? remove_any() : add_any();
    }
  }

  void add_integers() {
    std::vector<std::int64_t> members(1 + below(40));
    for (std::int64_t& member : members) member = static_cast<std::int64_t>(below(2'000));
    const std::size_t new_max = 1 + below(40);
    const auto is_new = std::make_unique<bool[]>(members.size());
    if (object() == nullptr) sets::create(db(), "s");
    const std::size_t asked =
        sets::add_integers(db(), *object(), members, new_max, {is_new.get(), members.size()});
    std::size_t added = 0;
    for (std::size_t i = 0; i < asked; ++i) {
      EXPECT_LT(added, new_max);
      EXPECT_EQ(is_new[i], expected_.insert(std::to_string(members[i])).second);
      if (is_new[i]) ++added;
    }
    EXPECT_TRUE(asked == members.size() || added == new_max);
  }

  void add_any() {
    if (below(20) == 0) return add_integers();
    const std::size_t number = below(1'000'000);
    const std::string member = (number % 5 == 0 ? "vip" : "") + std::to_string(number % 2'000);
    if (object() == nullptr) sets::create(db(), "s");
    EXPECT_EQ(sets::add(db(), *object(), member), expected_.insert(member).second);
  }

  void remove_any() {
    const auto member = expected_.lower_bound(std::to_string(below(10)));
    const std::string removed = member == expected_.end() ? *expected_.begin() : *member;
    const bool is_rewritten = object()->set().records().has_marks_enough(expected_.size() - 1);
    if (is_rewritten) ++rewrites_;
    EXPECT_TRUE(sets::remove(db(), *object(), removed));
    expected_.erase(removed);
  }

  Members members() {
    Members all;
    if (object() != nullptr) {
      object()->set().for_each([&](std::string_view member) { all.emplace(member); });
    }
    return all;
  }

  /// State records in the store, which is closed for it: a store is loaded once.
  std::size_t records() {
    std::size_t count = 0;
    keyspace_.reset();
    store_.reset();
    EXPECT_TRUE(open_store_()->load([&](std::string_view, std::string_view) { ++count; }).ok());
    return count;
  }

  Database& db() { return keyspace_->db(0); }
  Object* object() { return db().find("s"); }

  const OpenStore open_store_;
  const std::uint64_t seed_ = random_seed();
  std::mt19937_64 random_{seed_};
  std::unique_ptr<faults::FaultyStore> store_;
  std::unique_ptr<Keyspace> keyspace_;
  Members expected_;
  std::size_t rewrites_ = 0;
};

}  // namespace rushgate
