#include "engine/redis/keyspace/list_value.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <iterator>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

using PlacedElements = std::deque<std::pair<ListPosition, std::string>>;

PlacedElements contents(const ListValue& list) {
  PlacedElements all;
  list.for_each(0, list.size(), [&](ListPosition position, std::string element) {
    all.emplace_back(position, std::move(element));
  });
  return all;
}

PlacedElements contents(const ListValue::Taken& taken) {
  PlacedElements all;
  for (const ListBlock& block : taken.blocks) {
    for (std::size_t at = 0; at < block.size(); ++at) {
      all.emplace_back(block.position(at), block[at]);
    }
  }
  return all;
}

// ---- Blocks ----

TEST(ListBlockTest, BlockReturnsItsElements) {
  using Limits = std::numeric_limits<std::int64_t>;
  const std::vector<std::string> elements = {"",
                                             "0",
                                             "-1",
                                             "1",
                                             "127",
                                             "128",
                                             "-32769",
                                             "05",
                                             "text",
                                             std::string("\0\xff", 2),
                                             std::string(63, 'x'),
                                             std::string(64, 'y'),
                                             std::to_string(Limits::max()),
                                             std::to_string(Limits::min()),
                                             "9223372036854775808"};
  ListBlock block;
  for (const std::string& element : elements) {
    ASSERT_TRUE(block.has_space_for(element));
    block.insert(block.size(), block.size() * kListStep, element);
  }
  for (std::size_t i = 0; i < elements.size(); ++i) {
    EXPECT_EQ(block[i], elements[i]);
    for (const std::string& other : elements) {
      EXPECT_EQ(block.equals(i, other), elements[i] == other);
    }
  }
}

TEST(ListBlockTest, SpaceOfRemovedElementsIsReused) {
  ListBlock block;
  const std::string element(76, 'x');  // 78 bytes
  std::size_t count = 0;
  for (; block.has_space_for(element); ++count) block.insert(count, count * kListStep, element);
  EXPECT_EQ(count, ListBlock::kBytesMax / 78);
  for (std::size_t i = 0; i < 1'000; ++i) {
    block.erase(i % count);
    ASSERT_TRUE(block.has_space_for(element));
    block.insert(i % count, i % count * kListStep, element);
  }
  for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(block[i], element);
}

TEST(ListBlockTest, ElementOfAnyLengthMayBeAlone) {
  ListBlock block;
  const std::string large(1'000'000, 'x');
  ASSERT_TRUE(block.has_space_for(large));
  block.insert(0, 1, large);
  EXPECT_FALSE(block.has_space_for("1"));
  block.assign(0, "small");
  ASSERT_TRUE(block.has_space_for("1"));
  block.insert(1, 2, "1");
  EXPECT_EQ(block[0], "small");
  EXPECT_EQ(block[1], "1");
}

TEST(ListBlockTest, BlockCanBeSplit) {
  ListBlock block;
  for (std::size_t i = 0; i < 100; ++i) {
    block.insert(i, i * kListStep, i % 2 == 0 ? std::to_string(i) : "text" + std::to_string(i));
  }
  const ListBlock rest = block.take_from(30);
  ASSERT_EQ(block.size(), 30U);
  ASSERT_EQ(rest.size(), 70U);
  EXPECT_EQ(block[29], "text29");
  EXPECT_EQ(rest[0], "30");
  EXPECT_EQ(rest[69], "text99");
  EXPECT_EQ(rest.position(69), 99 * kListStep);
}

TEST(ListBlockTest, PositionsAreSpelledOutOnlyIfIrregular) {
  ListBlock block;
  for (std::size_t i = 0; i < 40; ++i) block.insert(i, (10 + i) * kListStep, "x");
  const std::size_t regular_bytes = block.memory_bytes();
  EXPECT_TRUE(block.is_regular());
  block.insert(20, 29 * kListStep + 5, "y");
  EXPECT_FALSE(block.is_regular());
  EXPECT_GT(block.memory_bytes(), regular_bytes + 40 * sizeof(ListPosition));
  EXPECT_EQ(block.position(19), 29 * kListStep);
  EXPECT_EQ(block.position(20), 29 * kListStep + 5);
  EXPECT_EQ(block.last_position(), 49 * kListStep);
  block.erase(20);
  block.make_regular();
  EXPECT_EQ(block.position(39), 49 * kListStep);
  block.shrink();
  EXPECT_LT(block.memory_bytes(), regular_bytes);
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(block[i], "x");
}

// ---- Lists ----

TEST(ListValueTest, ListOfOneBlockNeedsNoVector) {
  ListValue list;
  list.insert(list.end(), kListStep, "element");
  EXPECT_EQ(list.memory_bytes(), 48U);
  for (ListPosition i = 2; i < 3'000; ++i) list.insert(list.end(), i * kListStep, "element");
  list.shrink();
  EXPECT_GT(list.end().block, 2U);
  EXPECT_EQ(list.memory_bytes(), list.measured_bytes());
  while (list.size() > 1) list.erase(list.begin());
  EXPECT_TRUE(list.wants_to_shrink());
  list.shrink();
  EXPECT_EQ(list.memory_bytes(), 48U);
  EXPECT_EQ(contents(list), (PlacedElements{{2'999 * kListStep, "element"}}));
}

/// As RPOPLPUSH of a list to itself. Each element is a block.
void rotate(ListValue& list, int times) {
  const std::string large(5'000, 'x');
  for (int i = 0; i < times; ++i) {
    list.erase(list.place_of(list.size() - 1));
    list.insert(list.begin(), list.position(list.begin()) - kListStep, large);
    list.shrink();
  }
}

TEST(ListValueTest, RotatedListDoesNotGrow) {
  constexpr ListPosition kMiddle = ListPosition{1} << 63;
  ListValue list;
  for (ListPosition i = 0; i < 50; ++i) {
    list.insert(list.end(), kMiddle + i * kListStep, std::string(5'000, 'x'));
  }
  rotate(list, 200);
  const std::size_t bytes = list.memory_bytes();
  rotate(list, 10'000);
  EXPECT_LE(list.memory_bytes(), bytes + 1'000);
  EXPECT_EQ(list.memory_bytes(), list.measured_bytes());
}

TEST(ListValueTest, DrainedListReleasesItsVector) {
  ListValue list;
  for (ListPosition i = 1; i <= 10'000; ++i) {
    list.insert(list.end(), i * kListStep, std::string(4'000, 'x'));
  }
  list.shrink();
  const std::size_t bytes_of_two = 2 * (list.memory_bytes() / list.size());
  for (int i = 0; i < 9'998; ++i) list.erase(list.place_of(1));
  EXPECT_TRUE(list.wants_to_shrink());
  list.shrink();
  EXPECT_FALSE(list.wants_to_shrink());
  EXPECT_LT(list.memory_bytes(), bytes_of_two + 200);
  EXPECT_EQ(list.position(list.place_of(1)), 10'000 * kListStep);
}

TEST(ListBlockTest, ElementOfEqualSizeIsOverwritten) {
  ListBlock block;
  for (std::size_t i = 0; i < 100; ++i) block.insert(i, i * kListStep, std::to_string(10'000 + i));
  block.shrink();
  const std::size_t bytes = block.memory_bytes();
  block.assign(50, "20000");
  EXPECT_FALSE(block.wants_to_shrink());
  EXPECT_EQ(block.memory_bytes(), bytes);
  EXPECT_EQ(block[49], "10049");
  EXPECT_EQ(block[50], "20000");
  EXPECT_EQ(block[51], "10051");
}

/// A list and a simple model of it.
class ListValueModel {
 public:
  explicit ListValueModel(std::uint64_t seed) : random_(seed) {}

  void change() {
    switch (elements_.empty() ? 0 : below(12)) {
      case 0:
      case 1:
      case 2:
        return insert(elements_.size());
      case 3:
      case 4:
        return insert(0);
      case 5:
      case 6:
        return insert(below(elements_.size() + 1));
      case 7:
        return erase(below(elements_.size()));
      case 8:
        return erase(below(2) == 0 ? 0 : elements_.size() - 1);
      case 9:
        return assign(below(elements_.size()));
      case 10:
        return below(20) == 0 ? take() : insert(0);
      default:
        return below(20) == 0 ? reposition() : insert(elements_.size());
    }
  }

  void expect_equal() {
    ASSERT_EQ(contents(list_), elements_);
    if (elements_.empty()) return;
    const std::size_t index = below(elements_.size());
    const ListValue::Place place = list_.place_of(index);
    EXPECT_EQ(list_.element(place), elements_[index].second);
    if (index > 0) {
      EXPECT_EQ(list_.previous(place), list_.place_of(index - 1));
    }
  }

  void shrink() {
    list_.shrink();
    EXPECT_EQ(list_.memory_bytes(), list_.measured_bytes());
  }

  [[nodiscard]] std::size_t size() const { return elements_.size(); }

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }
  auto at(std::size_t index) {
    return std::next(elements_.begin(), static_cast<std::ptrdiff_t>(index));
  }

  std::string any_element() {
    const std::size_t kind = below(100);
    if (kind == 0) return std::string(below(20'000), 'l');
    if (kind < 10) return std::string(below(300), 'm');
    return kind % 2 == 0 ? std::to_string(below(1'000'000)) : "e" + std::to_string(below(1'000));
  }

  /// Returns a position between the neighbours of `index`. Empty if none is free.
  std::optional<ListPosition> position_at(std::size_t index) {
    constexpr ListPosition kMiddle = ListPosition{1} << 63;
    if (elements_.empty()) return kMiddle;
    if (index == 0) return elements_.front().first - kListStep;
    if (index == elements_.size()) return elements_.back().first + kListStep;
    const ListPosition before = elements_[index - 1].first;
    const ListPosition behind = elements_[index].first;
    if (behind - before < 2) return std::nullopt;
    return before + 1 + below(behind - before - 1);
  }

  void insert(std::size_t index) {
    const auto position = position_at(index);
    if (!position) return;
    const std::string element = any_element();
    list_.insert(list_.place_of(index), *position, element);
    elements_.insert(at(index), {*position, element});
  }

  void erase(std::size_t index) {
    const ListValue::Erased erased = list_.erase(list_.place_of(index));
    EXPECT_EQ(list_.normal(erased.place), list_.place_of(index));
    elements_.erase(at(index));
  }

  void assign(std::size_t index) {
    elements_[index].second = any_element();
    const ListValue::Place place = list_.place_of(index);
    if (list_.has_space_for(place, elements_[index].second)) {
      return list_.assign(place, elements_[index].second);
    }
    list_.erase(place);
    list_.insert(list_.normal(place), elements_[index].first, elements_[index].second);
  }

  void take() {
    const std::size_t first = below(elements_.size());
    const std::size_t count = below(elements_.size() - first + 1);
    ListValue::Taken taken = list_.take(first, count);
    EXPECT_EQ(contents(taken), PlacedElements(at(first), at(first + count)));
    if (below(2) == 0) return list_.put_back(std::move(taken));
    elements_.erase(at(first), at(first + count));
  }

  void reposition() {
    const std::size_t first = below(elements_.size());
    const std::size_t count = 1 + below(elements_.size() - first);
    if (first > 0 && first + count < elements_.size()) return;  // there is always space at an end
    std::vector<ListPosition> positions(count);
    const bool is_head = first == 0;
    ListPosition position = is_head ? at(first + count) == elements_.end()
                                          ? ListPosition{1} << 62
                                          : elements_[count].first - (count + 1) * kListStep
                                    : elements_[first - 1].first;
    for (std::size_t i = 0; i < count; ++i) {
      position += below(4) == 0 ? 1 + below(kListStep) : kListStep;
      positions[i] = position;
      elements_[first + i].first = position;
    }
    list_.reposition(first, positions);
  }

  std::mt19937_64 random_;
  ListValue list_;
  PlacedElements elements_;
};

TEST(ListValueTest, ListMatchesModel) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  ListValueModel model(seed);
  std::size_t largest = 0;
  for (int step = 0; step < 40'000 && !::testing::Test::HasFailure(); ++step) {
    model.change();
    if (step % 50 == 0) model.expect_equal();
    if (step % 500 == 0) model.shrink();
    largest = std::max(largest, model.size());
  }
  EXPECT_GT(largest, 1'000U);
}

TEST(ListValueTest, EmptiedQueueLeavesNoBlocks) {
  ListValue list;
  ListPosition position = 0;
  for (std::size_t i = 0; i < 100'000; ++i) {
    list.insert(list.end(), position += kListStep, std::to_string(i));
    if (list.size() > 3'000) {
      ASSERT_EQ(list.element(list.begin()), std::to_string(i - 3'000));
      list.erase(list.begin());
    }
  }
  EXPECT_LT(list.end().block, 10U) << "unused blocks were kept";
}

}  // namespace
}  // namespace rushgate
