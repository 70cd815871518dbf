// A list that is changed at random in every way, compared with a std::deque, on any store.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "engine/keyspace/keyspace.h"
#include "engine/keyspace/lists.h"
#include "tests/faults/faulty_store.h"
#include "tests/random_seed.h"

namespace rushgate {

/// Groups of changes: some are taken back in part, some are lost with a commit that fails, and now
/// and then everything is loaded again.
class ListsModel {
 public:
  using Elements = std::deque<std::string>;
  /// Opens the same store each time; the one before is gone by then.
  using OpenStore = std::function<std::unique_ptr<Store>()>;

  explicit ListsModel(OpenStore open_store) : open_store_(std::move(open_store)) { reopen(); }

  void run(int groups) {
    SCOPED_TRACE(seed_text(seed_));
    for (int group = 0; group < groups && !::testing::Test::HasFailure(); ++group) {
      SCOPED_TRACE("group " + std::to_string(group));
      run_group();
      EXPECT_EQ(elements(), expected_);
      if (below(5) != 0) continue;
      EXPECT_EQ(records(), expected_.empty() ? 0 : expected_.size() + 1);
      reopen();
      EXPECT_EQ(elements(), expected_);
    }
  }

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }
  /// Mostly near the ends or at one place.
  std::size_t any_index(std::size_t bound) {
    switch (below(4)) {
      case 0:
        return below(bound);
      case 1:
        return std::min(below(5), bound - 1);
      case 2:
        return bound - 1 - std::min(below(5), bound - 1);
      default:
        return bound / 2;
    }
  }

  void reopen() {
    keyspace_.reset();
    store_.reset();
    store_ = std::make_unique<faults::FaultyStore>(open_store_());
    keyspace_ = std::make_unique<Keyspace>(*store_, 1);
    ASSERT_TRUE(keyspace_->load().ok());
  }

  void run_group() {
    const Elements before = expected_;
    change(below(60));
    if (below(4) == 0) {
      const Elements kept = expected_;
      const auto mark = keyspace_->changes().mark();
      change(below(60));
      keyspace_->changes().roll_back_to(mark);
      expected_ = kept;
      EXPECT_EQ(elements(), expected_);
      change(below(10));
    }
    if (below(6) == 0) store_->fail_commit(1, faults::FaultyStore::Kept::kNo);
    if (!keyspace_->commit().ok()) expected_ = before;
    store_->fail_commit(1'000'000, faults::FaultyStore::Kept::kNo);
  }

  void change(std::size_t changes) {
    for (std::size_t i = 0; i < changes; ++i) change();
  }

  void change() {
    if (object() == nullptr) lists::create(db(), "l");
    if (expected_.empty()) return push();
    switch (below(16)) {
      case 0:
      case 1:
        return pop();
      case 2:
        return set();
      case 3:
        return remove_equal();
      case 4:
        if (below(10) == 0) return remove_range();
        [[fallthrough]];
      case 5:
      case 6:
      case 7:
      case 8:
        return insert();
      default:
        return push();
    }
  }

  std::string any_element() {
    const std::size_t number = below(1'000'000);
    if (number < 20'000) return std::string(number, static_cast<char>('a' + number % 26));
    if (number % 3 == 0) return std::to_string(static_cast<std::int64_t>(random_()));
    return (number % 3 == 1 ? "e" : "") + std::to_string(number % 50);
  }
  lists::End any_end() { return below(2) == 0 ? lists::End::kHead : lists::End::kTail; }
  auto expected_at(std::size_t index) {
    return std::next(expected_.begin(), static_cast<std::ptrdiff_t>(index));
  }

  void push() {
    const std::string element = any_element();
    const lists::End end = any_end();
    lists::push(db(), *object(), end, element);
    expected_.insert(end == lists::End::kHead ? expected_.begin() : expected_.end(), element);
  }

  void pop() {
    const lists::End end = any_end();
    const bool is_head = end == lists::End::kHead;
    EXPECT_EQ(lists::pop(db(), *object(), end), is_head ? expected_.front() : expected_.back());
    expected_.erase(is_head ? expected_.begin() : std::prev(expected_.end()));
  }

  void set() {
    const std::size_t index = any_index(expected_.size());
    const std::string element = any_element();
    lists::set(db(), *object(), index, element);
    expected_[index] = element;
  }

  void insert() {
    const std::size_t index = any_index(expected_.size());
    const std::string element = any_element();
    lists::insert(db(), *object(), index, element);
    expected_.insert(expected_at(index), element);
  }

  void remove_equal() {
    const std::string element = expected_[any_index(expected_.size())];
    const lists::End end = any_end();
    const std::size_t count_max = below(3) + 1;
    const std::size_t removed = lists::remove_equal(db(), *object(), element, end, count_max);
    if (end == lists::End::kTail) std::ranges::reverse(expected_);
    std::size_t left = count_max;
    std::erase_if(expected_,
                  [&](const std::string& other) { return left > 0 && other == element && left--; });
    if (end == lists::End::kTail) std::ranges::reverse(expected_);
    EXPECT_EQ(removed, count_max - left);
  }

  void remove_range() {
    const std::size_t first = any_index(expected_.size());
    const std::size_t count = 1 + below(expected_.size() - first);
    lists::remove_range(db(), *object(), first, count);
    expected_.erase(expected_at(first), expected_at(first + count));
  }

  Elements elements() {
    Elements all;
    if (object() == nullptr) return all;
    const ListValue& list = object()->list();
    ListPosition last = 0;
    list.for_each(0, list.size(), [&](ListPosition position, std::string element) {
      EXPECT_LT(last, position);
      last = position;
      all.push_back(std::move(element));
    });
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
  Object* object() { return db().find("l"); }

  const OpenStore open_store_;
  const std::uint64_t seed_ = random_seed();
  std::mt19937_64 random_{seed_};
  std::unique_ptr<faults::FaultyStore> store_;
  std::unique_ptr<Keyspace> keyspace_;
  Elements expected_;
};

}  // namespace rushgate
