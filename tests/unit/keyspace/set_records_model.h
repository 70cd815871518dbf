// Adds and removes members of a set at random, on any store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/redis/keyspace/sets.h"
#include "tests/unit/keyspace/store_model.h"

namespace rushgate {

class SetRecordsModel final : public StoreModel<std::set<std::string>> {
 public:
  /// Draws from `universe` members, of which the set holds about a tenth.
  explicit SetRecordsModel(OpenStore open_store, std::size_t universe = 2'000)
      : StoreModel(std::move(open_store), 300), universe_(universe) {}

  [[nodiscard]] std::size_t rewrites() const { return rewrites_; }

 private:
  using Members = std::set<std::string>;

  void change() override {
    const bool is_removal = below(expected_.size() + universe_ / 10) < expected_.size();
    is_removal ? remove_any() : add_any();
  }

  void add_integers() {
    std::vector<std::int64_t> members(1 + below(40));
    for (std::int64_t& member : members) member = static_cast<std::int64_t>(below(universe_));
    const std::size_t new_max = 1 + below(40);
    const auto is_new = std::make_unique<bool[]>(members.size());
    if (object() == nullptr) sets::create(db(), kObjectKey);
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
    const std::string member = (number % 5 == 0 ? "vip" : "") + std::to_string(number % universe_);
    if (object() == nullptr) sets::create(db(), kObjectKey);
    EXPECT_EQ(sets::add(db(), *object(), member), expected_.insert(member).second);
  }

  void remove_any() {
    const auto member = expected_.lower_bound(std::to_string(below(10)));
    const std::string removed = member == expected_.end() ? *expected_.begin() : *member;
    const bool is_rewritten = object()->set().records().has_many_tombstones(expected_.size() - 1);
    if (is_rewritten) ++rewrites_;
    EXPECT_TRUE(sets::remove(db(), *object(), removed));
    expected_.erase(removed);
  }

  Members contents() override {
    Members all;
    if (object() != nullptr) {
      object()->set().for_each([&](std::string_view member) { all.emplace(member); });
    }
    return all;
  }

  void check_records(std::size_t records) override {
    EXPECT_LE(records, 3 * (expected_.size() + SetRecords::kTombstonesMax));
  }

  const std::size_t universe_;

  std::size_t rewrites_ = 0;
};

}  // namespace rushgate
