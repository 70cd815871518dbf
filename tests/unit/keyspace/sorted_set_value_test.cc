#include "engine/redis/keyspace/sorted_set_value.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/functional/any_invocable.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

const EncodingLimits kSortedSetLimits;

using ScoredText = std::pair<double, std::string>;

std::vector<ScoredText> pairs_of(const SortedSetValue& value, std::size_t first, std::size_t last) {
  std::vector<ScoredText> pairs;
  value.for_each(first, last, [&](const ScoredElement& element) {
    pairs.emplace_back(element.score, element.member);
  });
  return pairs;
}
std::vector<ScoredText> pairs_of(const SortedSetValue& value) {
  return pairs_of(value, 0, value.size());
}
std::vector<ScoredText> pairs_back(const SortedSetValue& value, std::size_t first,
                                   std::size_t last) {
  std::vector<ScoredText> pairs;
  value.for_each_back(first, last, [&](const ScoredElement& element) {
    pairs.emplace_back(element.score, element.member);
  });
  return pairs;
}

TEST(SortedSetValueTest, AssignAndEraseReturnOldScore) {
  SortedSetValue value(7);
  EXPECT_EQ(value.assign("a", 1).old_score, std::nullopt);
  EXPECT_EQ(value.assign("a", 2).old_score, 1);
  EXPECT_EQ(value.score("a"), 2);
  EXPECT_EQ(value.size(), 1U);
  EXPECT_EQ(value.erase("a").element->score, 2);
  EXPECT_EQ(value.erase("a").element, nullptr);
  EXPECT_EQ(value.score("a"), std::nullopt);
  EXPECT_EQ(value.rank("a"), std::nullopt);
  EXPECT_EQ(value.size(), 0U);
  EXPECT_EQ(pairs_of(value), std::vector<ScoredText>{});
}

TEST(SortedSetValueTest, EqualScoresAreOrderedByBytes) {
  SortedSetValue value(7);
  const std::vector<std::string> members = {
      "", std::string("\0", 1), "10", "9", "B", "a", "aa", "b", "\x7f", "\x80", "\xff"};
  for (std::size_t i = members.size(); i-- > 0;) value.assign(members[i], 0);
  for (std::size_t i = 0; i < members.size(); ++i) {
    EXPECT_EQ(value.at(i).member, members[i]);
    EXPECT_EQ(value.rank(members[i]), i);
  }
}

TEST(SortedSetValueTest, InfinitiesAreFirstAndLast) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  SortedSetValue value(7);
  value.assign("high", kInfinity);
  value.assign("max", std::numeric_limits<double>::max());
  value.assign("zero", -0.0);
  value.assign("another zero", 0.0);
  value.assign("lowest", std::numeric_limits<double>::lowest());
  value.assign("low", -kInfinity);
  std::vector<std::string> members;
  for (const auto& [score, member] : pairs_of(value)) members.push_back(member);
  EXPECT_EQ(members,
            (std::vector<std::string>{"low", "lowest", "another zero", "zero", "max", "high"}));
}

/// As sorted_sets::set().
std::optional<double> assign(SortedSetValue& value, std::string_view member, double score) {
  if (!value.is_large() && value.outgrows(kSortedSetLimits, member)) value.grow();
  return value.assign(member, score).old_score;
}

// The encoding as OBJECT ENCODING shows it.
TEST(SortedSetValueTest, ManyOrLongMembersMakeItLarge) {
  SortedSetValue many(7);
  for (int i = 0; i < 128; ++i) assign(many, std::to_string(i), i);
  EXPECT_FALSE(many.is_large());
  EXPECT_FALSE(many.outgrows(kSortedSetLimits, "5"));
  EXPECT_TRUE(many.outgrows(kSortedSetLimits, "128"));
  assign(many, "5", 1'000);
  EXPECT_FALSE(many.is_large());
  assign(many, "128", 128);
  EXPECT_TRUE(many.is_large());
  many.erase("128");
  EXPECT_TRUE(many.is_large());

  SortedSetValue with_long(7);
  assign(with_long, std::string(64, 'x'), 1);
  EXPECT_FALSE(with_long.is_large());
  assign(with_long, std::string(65, 'x'), 1);
  EXPECT_TRUE(with_long.is_large());
  with_long.erase(std::string(65, 'x'));
  EXPECT_TRUE(with_long.is_large());
}

TEST(SortedSetValueTest, UndoneGrowthLeavesItSmall) {
  SortedSetValue value(7);
  value.assign("a", 1);
  value.assign("b", 0.5);
  PackedScores packed = value.grow();
  SortedSetValue::Assigned assigned = value.assign("c", 0);
  EXPECT_EQ(pairs_of(value), (std::vector<ScoredText>{{0, "c"}, {0.5, "b"}, {1, "a"}}));
  value.roll_back(std::move(assigned));
  value.roll_back(std::move(packed));
  EXPECT_FALSE(value.is_large());
  EXPECT_EQ(pairs_of(value), (std::vector<ScoredText>{{0.5, "b"}, {1, "a"}}));
}

TEST(SortedSetValueTest, MovedSortedSetKeepsItsMembers) {
  SortedSetValue value(7);
  for (int i = 0; i < 1'000; ++i) value.assign(std::to_string(i), i);
  SortedSetValue moved = std::move(value);
  EXPECT_EQ(moved.size(), 1'000U);
  EXPECT_EQ(moved.rank("999"), 999U);
  moved = SortedSetValue(8);
  EXPECT_EQ(moved.size(), 0U);
}

// ---- Comparison with a model ----------------

struct SortedSetModel {
  std::map<std::string, double> scores;
  std::set<ScoredText> order;

  std::optional<double> assign(const std::string& member, double score) {
    const auto old = erase(member);
    scores[member] = score;
    order.emplace(score, member);
    return old;
  }
  std::optional<double> erase(const std::string& member) {
    const auto found = scores.find(member);
    if (found == scores.end()) return std::nullopt;
    const double score = found->second;
    order.erase({score, member});
    scores.erase(found);
    return score;
  }
  [[nodiscard]] std::vector<ScoredText> range(std::size_t first, std::size_t last) const {
    const auto begin = std::next(order.begin(), static_cast<std::ptrdiff_t>(first));
    return {begin, std::next(begin, static_cast<std::ptrdiff_t>(last - first))};
  }
  [[nodiscard]] std::size_t count_below(const ScoredText& bound) const {
    return static_cast<std::size_t>(std::distance(order.begin(), order.lower_bound(bound)));
  }
};

std::optional<double> erased_score(const SortedSetValue::Erased& erased) {
  return erased.element == nullptr ? std::nullopt : std::optional(erased.element->score);
}

/// Changes a value and its model alike.
class SortedSetModelTest : public ::testing::Test {
 protected:
  std::string random_member() { return std::to_string(random_() % members_max_); }
  double random_score() {
    switch (random_() % 4) {
      case 0:
        return static_cast<double>(random_() % 10);
      case 1:
        return static_cast<double>(random_()) / 1e3;
      case 2:
        return -static_cast<double>(random_() % 1'000) / 8;
      default:
        return static_cast<double>(next_score_++);
    }
  }
  void assign() {
    const std::string member = random_member();
    const double score = random_score();
    ASSERT_EQ(rushgate::assign(value_, member, score), model_.assign(member, score));
  }
  void erase() {
    const std::string member = random_member();
    ASSERT_EQ(erased_score(value_.erase(member)), model_.erase(member));
  }
  void erase_end(std::size_t rank) {
    const std::string member(value_.at(rank).member);
    ASSERT_EQ(erased_score(value_.erase(member)), model_.erase(member));
  }

  void expect_same_somewhere() {
    ASSERT_EQ(value_.size(), model_.scores.size());
    const std::string member = random_member();
    const auto found = model_.scores.find(member);
    ASSERT_EQ(value_.score(member),
              found == model_.scores.end() ? std::nullopt : std::optional(found->second));
    if (found != model_.scores.end()) {
      ASSERT_EQ(value_.rank(member), model_.count_below({found->second, member}));
    }
    const ScoredText bound(random_score(), random_member());
    ASSERT_EQ(value_.count_before([&](const ScoredElement& element) {
      return ScoredText(element.score, element.member) < bound;
    }),
              model_.count_below(bound));
    const std::size_t last = random_() % (value_.size() + 1);
    const std::size_t first = last - std::min(last, random_() % 200);
    std::vector<ScoredText> expected = model_.range(first, last);
    ASSERT_EQ(pairs_of(value_, first, last), expected);
    if (first < last) {
      ASSERT_EQ(value_.at(first).member, expected.front().second);
    }
    std::reverse(expected.begin(), expected.end());
    ASSERT_EQ(pairs_back(value_, first, last), expected);
  }
  void expect_same() {
    ASSERT_EQ(pairs_of(value_),
              (std::vector<ScoredText>{model_.order.begin(), model_.order.end()}));
  }

  const std::uint64_t seed_ = random_seed();
  std::mt19937_64 random_{seed_};
  std::uint64_t members_max_ = 5'000;
  std::uint64_t next_score_ = 0;
  SortedSetValue value_{seed_};
  SortedSetModel model_;
};

TEST_F(SortedSetModelTest, RandomChangesMatchModel) {
  SCOPED_TRACE(seed_text(seed_));
  for (int step = 0; step < 60'000 && !HasFailure(); ++step) {
    const bool grows = step / 15'000 % 2 == 0;
    if (random_() % 5 < (grows ? 4U : 1U)) {
      assign();
    } else {
      erase();
    }
    if (step % 16 == 0) expect_same_somewhere();
    if (step % 10'000 == 0) expect_same();
  }
  expect_same();
}

TEST_F(SortedSetModelTest, RandomChangesOfSmallOneMatchModel) {
  SCOPED_TRACE(seed_text(seed_));
  members_max_ = 100;
  for (int step = 0; step < 20'000 && !HasFailure(); ++step) {
    random_() % 3 == 0 ? erase() : assign();
    expect_same_somewhere();
  }
  expect_same();
  EXPECT_FALSE(value_.is_large());
}

TEST_F(SortedSetModelTest, UndoneChangesOfSmallOneLeaveNoTrace) {
  SCOPED_TRACE(seed_text(seed_));
  members_max_ = 40;
  for (int round = 0; round < 300 && !HasFailure(); ++round) {
    std::vector<absl::AnyInvocable<void()>> undo;
    for (std::size_t step = 0, steps = random_() % 50; step < steps; ++step) {
      const std::string member = random_member();
      if (random_() % 2 == 0) {
        undo.emplace_back([this, assigned = value_.assign(member, random_score())]() mutable {
          value_.roll_back(std::move(assigned));
        });
      } else if (auto erased = value_.erase(member); erased.element != nullptr) {
        undo.emplace_back(
            [this, erased = std::move(erased)]() mutable { value_.roll_back(std::move(erased)); });
      }
    }
    for (; !undo.empty(); undo.pop_back()) undo.back()();
    expect_same();
    value_.shrink();
    for (int step = 0; step < 10; ++step) random_() % 3 == 0 ? erase() : assign();
  }
}

TEST_F(SortedSetModelTest, RangesAreRemovedFromEitherEnd) {
  SCOPED_TRACE(seed_text(seed_));
  for (int i = 0; i < 8'000; ++i) assign();
  while (value_.size() > 0 && !HasFailure()) {
    erase_end(random_() % 2 == 0 ? 0 : value_.size() - 1);
    if (random_() % 64 == 0) expect_same_somewhere();
  }
  for (int i = 0; i < 1'000; ++i) assign();
  expect_same();
}

TEST_F(SortedSetModelTest, MembersMayComeInAnyOrder) {
  constexpr int kMembers = 20'000;
  const auto name = [](int i) { return std::to_string(i); };
  for (int i = 0; i < kMembers; ++i) {  // ascending, then descending, then from the middle
    const int score = i < kMembers / 3       ? i
                      : i < 2 * kMembers / 3 ? -i
                                             : (i % 2 == 0 ? 1 : -1) * 1'000'000 / i;
    rushgate::assign(value_, name(i), score);
    model_.assign(name(i), score);
  }
  expect_same();
  for (int i = 0; i < kMembers; i += 3) {
    ASSERT_EQ(erased_score(value_.erase(name(i))), model_.erase(name(i)));
  }
  expect_same();
  while (value_.size() > 0) erase_end(value_.size() / 2);
  expect_same();
}

// Redis needs about 100 bytes.
TEST(SortedSetValueTest, MillionUsersCostUnderSeventyBytesEach) {
  constexpr std::int64_t kUsers = 1'000'000;
  std::mt19937_64 random(7);
  SortedSetValue value(7);
  for (std::int64_t user = 0; user < kUsers; ++user) {
    assign(value, std::to_string(1'000'000'000 + user), static_cast<double>(random() % 1'000'000));
  }
  const double bytes_each = static_cast<double>(value.memory_bytes()) / kUsers;
  RecordProperty("bytes_per_element", std::to_string(bytes_each));
  EXPECT_LT(bytes_each, 66);
}

}  // namespace
}  // namespace rushgate
