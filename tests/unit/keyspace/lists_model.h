// Changes a list at random in every way on any store, and compares it with a std::deque.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "engine/redis/keyspace/lists.h"
#include "tests/unit/keyspace/store_model.h"

namespace rushgate {

class ListsModel final : public StoreModel<std::deque<std::string>> {
 public:
  explicit ListsModel(OpenStore open_store) : StoreModel(std::move(open_store), 60) {}

 private:
  using Elements = std::deque<std::string>;

  /// Returns an index, mostly near the ends or one fixed place.
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

  void change() override {
    if (object() == nullptr) lists::create(db(), kObjectKey);
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
    if (number % 3 == 0) return std::to_string(static_cast<std::int64_t>(any_number()));
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

  Elements contents() override {
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

  void check_records(std::size_t records) override {
    EXPECT_EQ(records, expected_.empty() ? 0 : expected_.size() + 1);
  }
};

}  // namespace rushgate
