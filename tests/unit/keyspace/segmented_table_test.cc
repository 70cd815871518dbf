#include "engine/redis/keyspace/segmented_table.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>

#include "engine/redis/keyspace/hashing.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

// ---- Items ----

struct Pair {
  std::int64_t key;
  std::int64_t value;
};

struct PairPolicy {
  using Item = Pair;
  static std::uint64_t hash(std::int64_t key, std::uint64_t seed) {
    return hash_integer(key, seed);
  }
  static std::uint64_t hash(const Pair& pair, std::uint64_t seed) {
    return hash_integer(pair.key, seed);
  }
  static bool matches(const Pair& pair, std::int64_t key) { return pair.key == key; }
};

struct IntegerItem {
  using Item = std::int64_t;
  static std::uint64_t hash(std::int64_t key, std::uint64_t seed) {
    return hash_integer(key, seed);
  }
  static bool matches(std::int64_t item, std::int64_t key) { return item == key; }
};

/// Uses the key as its hash, so that a test chooses the position of each item.
struct ChosenHash {
  using Item = std::uint64_t;
  static std::uint64_t hash(std::uint64_t key, std::uint64_t) { return key; }
  static bool matches(std::uint64_t item, std::uint64_t key) { return item == key; }
};

/// Counts the moves of an item, and checks that each is destroyed once.
class Counted {
 public:
  explicit Counted(std::int64_t key) : key_(key) { ++alive; }
  Counted(Counted&& other) noexcept : key_(other.key_) {
    ++alive;
    ++moves;
  }
  Counted& operator=(Counted&& other) noexcept {
    key_ = other.key_;
    ++moves;
    return *this;
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --alive; }

  [[nodiscard]] std::int64_t key() const { return key_; }

  static inline std::int64_t alive = 0;
  static inline std::int64_t moves = 0;

 private:
  std::int64_t key_;
};

struct CountedPolicy {
  using Item = Counted;
  static std::uint64_t hash(std::int64_t key, std::uint64_t seed) {
    return hash_integer(key, seed);
  }
  static std::uint64_t hash(const Counted& item, std::uint64_t seed) {
    return hash_integer(item.key(), seed);
  }
  static bool matches(const Counted& item, std::int64_t key) { return item.key() == key; }
};

struct OwningPolicy {
  using Item = std::unique_ptr<int>;
  static std::uint64_t hash(int key, std::uint64_t seed) { return hash_integer(key, seed); }
  static std::uint64_t hash(const Item& item, std::uint64_t seed) {
    return hash_integer(*item, seed);
  }
  static bool matches(const Item& item, int key) { return *item == key; }
};

template <class Policy>
std::vector<typename Policy::Item> items_of(const SegmentedTable<Policy>& table) {
  std::vector<typename Policy::Item> items;
  table.for_each([&](const auto& item) { items.push_back(item); });
  return items;
}

// ---- Behaviour ----

TEST(SegmentedTableTest, InsertMissingAddsOnlyMissingItems) {
  constexpr std::int64_t kItems = 10'000;
  const std::uint64_t seed = 7;
  SegmentedTable<IntegerItem> table(seed);
  table.insert(3);
  std::vector<std::int64_t> items;
  for (std::int64_t item = 0; item < kItems; ++item) items.push_back(item % (kItems / 2));
  std::vector<std::int64_t> missing;
  const auto note = [&missing](std::int64_t item, bool was_missing) {
    if (was_missing) missing.push_back(item);
    return true;
  };
  table.insert_missing({}, note);
  table.insert_missing(items, note);
  EXPECT_EQ(table.size(), static_cast<std::size_t>(kItems / 2));
  items.resize(kItems / 2);
  for (const std::int64_t item : items) EXPECT_TRUE(table.contains(item)) << item;
  std::erase(items, 3);
  EXPECT_EQ(missing, items);
}

TEST(SegmentedTableTest, InsertMissingStopsOnRequest) {
  SegmentedTable<IntegerItem> table;
  std::vector<std::int64_t> items(100);
  std::iota(items.begin(), items.end(), 0);
  std::size_t left = 50;
  table.insert_missing(items, [&left](std::int64_t, bool) { return --left > 0; });
  EXPECT_EQ(table.size(), 50U);
  EXPECT_TRUE(table.contains(49));
  EXPECT_FALSE(table.contains(50));
}

TEST(SegmentedTableTest, PrefetchVisitsItemsOfKeys) {
  SegmentedTable<PairPolicy> table(7);
  std::vector<std::int64_t> keys(100'000);
  std::iota(keys.begin(), keys.end(), 0);
  for (const std::int64_t key : keys) table.insert({key, key});
  std::size_t met = 0;
  for (std::span<const std::int64_t> rest = keys; !rest.empty(); rest = rest.subspan(kWarmedMax)) {
    const auto some = rest.first(kWarmedMax);
    table.warm(some, [&](const Pair& pair) {
      if (std::ranges::count(some, pair.key) > 0) ++met;
    });
  }
  EXPECT_GT(met, keys.size() * 9 / 10);  // others follow a similar hash
}

TEST(SegmentedTableTest, TableOfOneSegmentNeedsNoPrefetch) {
  SegmentedTable<PairPolicy> table(7);
  const std::vector<std::int64_t> keys = {1, 2};
  const auto visit = [](const Pair&) { FAIL(); };
  table.warm(std::span(keys), visit);
  table.insert({1, 1});
  table.warm(std::span(keys), visit);
}

TEST(SegmentedTableTest, EmptyTableUsesNoMemory) {
  SegmentedTable<PairPolicy> table;
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.find(std::int64_t{1}), nullptr);
  EXPECT_FALSE(table.erase(std::int64_t{1}));
  EXPECT_EQ(table.memory_bytes(), 0U);
  table.for_each([](const Pair&) { FAIL(); });
}

TEST(SegmentedTableTest, TakeReturnsItem) {
  SegmentedTable<OwningPolicy> table(7);
  for (int i = 0; i < 100; ++i) table.insert(std::make_unique<int>(i));
  std::unique_ptr<int> taken;
  ASSERT_TRUE(table.take(42, &taken));
  EXPECT_EQ(*taken, 42);
  EXPECT_FALSE(table.contains(42));
  EXPECT_EQ(table.size(), 99U);
}

TEST(SegmentedTableTest, MovedTableKeepsItsItems) {
  SegmentedTable<PairPolicy> table(7);
  for (std::int64_t i = 0; i < 5'000; ++i) table.insert({i, i});
  SegmentedTable<PairPolicy> moved(std::move(table));
  EXPECT_EQ(moved.size(), 5'000U);
  EXPECT_TRUE(moved.contains(std::int64_t{4'999}));
  EXPECT_TRUE(table.empty());  // NOLINT(bugprone-use-after-move): it is empty, and usable
  table.insert({1, 1});
  table = std::move(moved);
  EXPECT_EQ(table.size(), 5'000U);
}

TEST(SegmentedTableTest, EveryItemIsDestroyedOnce) {
  Counted::alive = 0;
  {
    SegmentedTable<CountedPolicy> table(7);
    for (std::int64_t i = 0; i < 10'000; ++i) table.insert(Counted(i));
    EXPECT_EQ(Counted::alive, 10'000);
    for (std::int64_t i = 0; i < 10'000; i += 2) table.erase(i);
    EXPECT_EQ(Counted::alive, 5'000);
  }
  EXPECT_EQ(Counted::alive, 0);
}

void compare_with_a_map(std::uint64_t seed, std::int64_t keys, int steps) {
  std::mt19937_64 random(seed);
  SegmentedTable<PairPolicy> table(seed);
  std::unordered_map<std::int64_t, std::int64_t> model;
  for (int step = 0; step < steps; ++step) {
    const auto key =
        static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(keys)) - keys / 2;
    const auto known = model.find(key);
    Pair* const found = table.find(key);
    ASSERT_EQ(found != nullptr, known != model.end()) << "key " << key << ", step " << step;
    ASSERT_TRUE(found == nullptr || found->value == known->second);
    // Alternates between growth and shrinking.
    const bool growing = step / (2 * keys) % 2 == 0;
    const bool insert = random() % 10 < (growing ? 8 : 2);
    if (insert && found == nullptr) {
      table.insert({key, step});
      model.emplace(key, step);
    } else if (insert) {
      found->value = known->second = step;
    } else {
      ASSERT_EQ(table.erase(key), model.erase(key) == 1);
    }
    ASSERT_EQ(table.size(), model.size());
  }
  const std::vector<Pair> items = items_of(table);
  ASSERT_EQ(items.size(), model.size());
  for (const Pair& item : items) {
    const auto known = model.find(item.key);
    ASSERT_TRUE(known != model.end());
    ASSERT_EQ(item.value, known->second);
  }
}

TEST(SegmentedTableTest, TableAgreesWithUnorderedMap) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  compare_with_a_map(seed, 6, 10'000);            // within the smallest segment
  compare_with_a_map(seed + 1, 1'000, 100'000);   // within the largest segment
  compare_with_a_map(seed + 2, 50'000, 500'000);  // over many segments
}

// ---- The guarantees of its class comment ----

TEST(SegmentedTableTest, InsertionMovesAtMostOneSegment) {
  using Table = SegmentedTable<CountedPolicy>;
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  Table table(seed);
  std::int64_t most = 0;
  for (std::int64_t i = 0; i < 300'000; ++i) {
    Counted item(i);
    const std::int64_t before = Counted::moves;
    table.insert(std::move(item));
    most = std::max(most, Counted::moves - before);
  }
  RecordProperty("items_moved_at_most", static_cast<int>(most));
  EXPECT_LE(most, Table::kSlotsMax);
}

TEST(SegmentedTableTest, EqualSeedsAndHistoriesGiveEqualOrders) {
  SegmentedTable<PairPolicy> one(7);
  SegmentedTable<PairPolicy> same(7);
  SegmentedTable<PairPolicy> other(8);
  for (auto* table : {&one, &same, &other}) {
    for (std::int64_t i = 0; i < 20'000; ++i) table->insert({i, i});
    for (std::int64_t i = 0; i < 20'000; i += 3) table->erase(i);
  }
  const auto same_key = [](const Pair& a, const Pair& b) { return a.key == b.key; };
  EXPECT_TRUE(std::ranges::equal(items_of(one), items_of(same), same_key));
  EXPECT_FALSE(std::ranges::equal(items_of(one), items_of(other), same_key));
}

TEST(SegmentedTableTest, OrderIsSameOnEveryMachine) {
  SegmentedTable<PairPolicy> table(7);
  for (std::int64_t i = 0; i < 6; ++i) table.insert({i, i});
  std::vector<std::int64_t> keys;
  table.for_each([&](const Pair& pair) { keys.push_back(pair.key); });
  EXPECT_EQ(keys, (std::vector<std::int64_t>{3, 4, 1, 0, 2, 5}));
}

// ---- Random draws ----

TEST(SegmentedTableTest, ItemsAreDrawnAboutEquallyOften) {
  for (const std::int64_t items : {1, 5, 700, 3'000}) {
    SegmentedTable<IntegerItem> table(7);
    for (std::int64_t i = 0; i < items; ++i) table.insert(i);
    Random random(11);
    constexpr int kEach = 200;
    std::unordered_map<std::int64_t, int> drawn;
    for (std::int64_t i = 0; i < items * kEach; ++i) ++drawn[table.draw(random)];
    for (std::int64_t i = 0; i < items; ++i) {
      EXPECT_GT(drawn[i], kEach / 2) << i << " of " << items;
      EXPECT_LT(drawn[i], kEach * 2) << i << " of " << items;
    }
  }
}

TEST(SegmentedTableTest, LastOfManyItemsIsDrawn) {
  SegmentedTable<IntegerItem> table(7);
  for (std::int64_t i = 0; i < 100'000; ++i) table.insert(i);
  for (std::int64_t i = 1; i < 100'000; ++i) table.erase(i);
  Random random(11);
  EXPECT_EQ(table.draw(random), 0);
}

// ---- Unlucky and hostile keys ----

TEST(SegmentedTableTest, SharedTopBitsGrowSegmentNotDirectory) {
  SegmentedTable<ChosenHash> table;
  constexpr std::uint64_t kKeys = 20'000;
  for (std::uint64_t i = 0; i < kKeys; ++i) table.insert(i << 7);
  EXPECT_EQ(table.size(), kKeys);
  for (std::uint64_t i = 0; i < kKeys; ++i) ASSERT_TRUE(table.contains(i << 7));
  EXPECT_LT(table.memory_bytes(), kKeys * 64);
}

TEST(SegmentedTableTest, GrownSegmentMaySplitLater) {
  SegmentedTable<ChosenHash> table;
  std::uint64_t alike = 0;
  while (alike < 1'500) table.insert(alike++ << 7);  // one segment, grown past kSlotsMax
  // More items make the table large enough for a deeper directory: 65,536 positions, spread over
  // the top bits.
  for (std::uint64_t top = 1; top < 65'536; ++top) table.insert(top << 48);
  while (alike < 10'000) table.insert(alike++ << 7);
  for (std::uint64_t i = 0; i < alike; ++i) ASSERT_TRUE(table.contains(i << 7));
  for (std::uint64_t top = 1; top < 65'536; ++top) ASSERT_TRUE(table.contains(top << 48));
  EXPECT_EQ(table.size(), alike + 65'535);
}

TEST(SegmentedTableTest, EqualHashesAreDistinguishedByKey) {
  struct OneHash {
    using Item = int;
    static std::uint64_t hash(int, std::uint64_t) { return 0x8123456789ABCDEF; }
    static bool matches(int item, int key) { return item == key; }
  };
  SegmentedTable<OneHash> table;
  for (int i = 0; i < 3'000; ++i) table.insert(i);
  for (int i = 0; i < 3'000; i += 2) ASSERT_TRUE(table.erase(i));
  for (int i = 0; i < 3'000; ++i) ASSERT_EQ(table.contains(i), i % 2 == 1) << i;
}

// ---- Copies ----

struct StringItem {
  using Item = std::string;
  static std::uint64_t hash(const std::string& key, std::uint64_t seed) {
    return hash_bytes(key, seed);
  }
  static bool matches(const std::string& item, const std::string& key) { return item == key; }
};

template <class Policy, class Make>
void expect_copy_of_its_own(Make make) {
  for (const int size : {0, 1, 5, 700, 20'000}) {
    SegmentedTable<Policy> table(7);
    for (int i = 0; i < size; ++i) table.insert(make(i));
    for (int i = 0; i < size; i += 3) table.erase(make(i));
    const auto items = items_of(table);
    SegmentedTable<Policy> copy(1);
    copy.copy_from(table);
    EXPECT_EQ(items_of(copy), items);
    EXPECT_EQ(copy.size(), items.size());
    EXPECT_EQ(copy.memory_bytes(), copy.measured_bytes());
    for (int i = 0; i < size; i += 2) copy.erase(make(i));
    for (int i = 0; i < size; i += 3) copy.insert(make(size + i));
    EXPECT_EQ(items_of(table), items);
    for (int i = 1; i < size; i += 6) EXPECT_EQ(copy.contains(make(i)), i % 3 != 0) << i;
  }
}

TEST(SegmentedTableTest, CopyIsIndependent) {
  expect_copy_of_its_own<IntegerItem>([](int i) { return std::int64_t{i}; });
  expect_copy_of_its_own<StringItem>(
      [](int i) { return "an item that is not inline " + std::to_string(i); });
}

}  // namespace
}  // namespace rushgate
