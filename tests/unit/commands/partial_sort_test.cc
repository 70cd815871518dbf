#include "engine/redis/commands/partial_sort.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

int compare(int a, int b) { return a < b ? -1 : a > b ? 1 : 0; }

TEST(PartialSortTest, BeginningIsSorted) {
  const auto seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 2'000; ++round) {
    std::vector<int> numbers(random() % 200);
    const auto values = 1 + random() % 300;  // a few ones repeat
    for (int& number : numbers) number = static_cast<int>(random() % values);
    std::vector<int> expected = numbers;
    std::ranges::sort(expected);
    const std::size_t count = random() % (numbers.size() + 1);
    PartialSort<int, decltype(&compare)>(&compare).sort(numbers, count);
    ASSERT_TRUE(std::equal(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(count),
                           expected.begin()));
    std::ranges::sort(numbers);
    ASSERT_EQ(numbers, expected);
  }
}

/// The adversary of McIlroy, "A Killer Adversary for Quicksort" (1999): it decides the order of
/// elements as late as possible, so that each pivot is nearly the lowest element.
class Adversary {
 public:
  explicit Adversary(int size) : ranks_(static_cast<std::size_t>(size), size) {}

  int operator()(int a, int b) {
    ++comparisons;
    int& rank_a = ranks_[static_cast<std::size_t>(a)];
    int& rank_b = ranks_[static_cast<std::size_t>(b)];
    const int undecided = static_cast<int>(ranks_.size());
    if (rank_a == undecided && rank_b == undecided)
      (a == candidate_ ? rank_a : rank_b) = decided_++;
    if (rank_a == undecided) candidate_ = a;
    if (rank_b == undecided) candidate_ = b;
    return compare(rank_a, rank_b);
  }

  long comparisons = 0;

 private:
  std::vector<int> ranks_;
  int decided_ = 0;
  int candidate_ = 0;
};

TEST(PartialSortTest, AdversaryMeetsBound) {
  constexpr int kSize = 20'000;
  std::vector<int> numbers(kSize);
  for (int i = 0; i < kSize; ++i) numbers[static_cast<std::size_t>(i)] = i;
  Adversary adversary(kSize);
  const auto order = [&adversary](int a, int b) { return adversary(a, b); };
  PartialSort<int, decltype(order)>(order).sort(numbers, kSize - 1);
  EXPECT_LT(adversary.comparisons, 400L * kSize);  // without a bound: the square of the size
}

}  // namespace
}  // namespace rushgate
