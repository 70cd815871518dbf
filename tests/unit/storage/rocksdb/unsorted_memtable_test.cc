// The memtable alone, and in a real database.
#include "storage/rocksdb/unsorted_memtable.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/comparator.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include "engine/core/base/random.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

/// Returns a key. Many have a common prefix longer than the pieces that are sorted. They end inside
/// a piece or on its border, or continue with zeros, as the padding of shorter keys does.
std::string random_key(Random& random) {
  std::string key(random.below(3) * 40, 'p');
  for (auto bytes = random.below(20); bytes > 0; --bytes) {
    key += "\0\0ab\xFF"[random.below(5)];
  }
  return key;
}

// ---- The memtable alone ----

constexpr std::size_t kNumberBytes = 8;

/// Returns a key in RocksDB's format (MemTable::Add): the user's key and the number of its version.
std::string internal_key(std::string_view user_key, std::uint64_t number) {
  std::string key(user_key);
  for (std::size_t i = 0; i < kNumberBytes; ++i) key += static_cast<char>(number >> (8 * i));
  return key;
}

/// Compares user keys. The newest version of a key comes first.
int compare_internal(const rocksdb::Slice& left, const rocksdb::Slice& right) {
  const auto user_key = [](const rocksdb::Slice& key) {
    return rocksdb::Slice(key.data(), key.size() - kNumberBytes);
  };
  const auto number = [](const rocksdb::Slice& key) {
    std::uint64_t value = 0;
    for (std::size_t i = 1; i <= kNumberBytes; ++i) {
      value = value << 8 | static_cast<std::uint8_t>(key[key.size() - i]);
    }
    return value;
  };
  const int order = rocksdb::BytewiseComparator()->Compare(user_key(left), user_key(right));
  if (order != 0) return order;
  return number(left) > number(right) ? -1 : static_cast<int>(number(left) < number(right));
}

class Comparator final : public rocksdb::MemTableRep::KeyComparator {
 public:
  int operator()(const char* left, const char* right) const override {
    return compare_internal(decode_key(left), decode_key(right));
  }
  int operator()(const char* left, const rocksdb::Slice& right) const override {
    return compare_internal(decode_key(left), right);
  }
};

class UnsortedMemTableTest : public ::testing::Test {
 protected:
  using Iterator = rocksdb::MemTableRep::Iterator;

  void insert(std::string_view user_key, std::uint64_t number) {
    const std::string& key = sorted_.emplace_back(internal_key(user_key, number));
    ASSERT_LT(key.size(), 128U);  // so its length takes one byte
    std::string& entry = entries_.emplace_back();
    entry += static_cast<char>(key.size());
    entry += key;
    table_->Insert(entry.data());
  }

  /// Returns the inserted keys in their expected order.
  const std::vector<std::string>& sorted() {
    std::ranges::sort(sorted_, [](const std::string& left, const std::string& right) {
      return compare_internal(left, right) < 0;
    });
    return sorted_;
  }

  [[nodiscard]] std::unique_ptr<Iterator> iterate() const {
    return std::unique_ptr<Iterator>(table_->GetIterator());
  }
  static std::string key_at(const Iterator& at) {
    return rocksdb::GetLengthPrefixedSlice(at.key()).ToString();
  }
  [[nodiscard]] std::vector<std::string> forwards() const {
    std::vector<std::string> found;
    const auto at = iterate();
    for (at->SeekToFirst(); at->Valid(); at->Next()) found.push_back(key_at(*at));
    return found;
  }

  void insert_random(Random& random, int count) {
    for (int i = 0; i < count; ++i) insert(random_key(random), ++last_number_);
  }

  Comparator compare_;
  const std::unique_ptr<rocksdb::MemTableRep> table_{
      UnsortedMemTableFactory().CreateMemTableRep(compare_, nullptr, nullptr, nullptr)};
  std::deque<std::string> entries_;
  std::vector<std::string> sorted_;
  std::uint64_t last_number_ = 0;
};

TEST_F(UnsortedMemTableTest, IteratorMovesForwardAndBackward) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  Random random(seed);
  insert_random(random, 10'000);
  EXPECT_THAT(forwards(), ElementsAreArray(sorted()));
  std::vector<std::string> backwards;
  const auto at = iterate();
  for (at->SeekToLast(); at->Valid(); at->Prev()) backwards.push_back(key_at(*at));
  EXPECT_THAT(backwards, ElementsAreArray(sorted().rbegin(), sorted().rend()));
}

TEST_F(UnsortedMemTableTest, SeekFindsNextAndPrevious) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  Random random(seed);
  insert_random(random, 2'000);
  const auto less = [](const std::string& left, const std::string& right) {
    return compare_internal(left, right) < 0;
  };
  const std::vector<std::string>& expected = sorted();
  const auto at = iterate();
  for (int i = 0; i < 2'000; ++i) {
    const std::string key = random.below(2) == 0
                                ? expected[random.below(expected.size())]
                                : internal_key(random_key(random), random.below(2'000));
    at->Seek(key, nullptr);
    const auto next = std::ranges::lower_bound(expected, key, less);
    ASSERT_EQ(at->Valid(), next != expected.end());
    if (at->Valid()) {
      EXPECT_EQ(key_at(*at), *next);
    }
    at->SeekForPrev(key, nullptr);
    const auto after = std::ranges::upper_bound(expected, key, less);
    ASSERT_EQ(at->Valid(), after != expected.begin());
    if (at->Valid()) {
      EXPECT_EQ(key_at(*at), *(after - 1));
    }
  }
}

TEST_F(UnsortedMemTableTest, NewestVersionComesFirst) {
  for (std::uint64_t number = 1; number <= 1'000; ++number) insert("stock", number);
  EXPECT_THAT(forwards(), ElementsAreArray(sorted()));
  EXPECT_EQ(forwards().front(), internal_key("stock", 1'000));
}

TEST_F(UnsortedMemTableTest, VersionsMayComeInAnyOrder) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  Random random(seed);
  for (int i = 0; i < 1'000; ++i) insert("stock", random.next());
  EXPECT_THAT(forwards(), ElementsAreArray(sorted()));
}

TEST_F(UnsortedMemTableTest, ContainsFindsInsertedKeys) {
  insert("a", 1);
  insert("b", 2);
  EXPECT_TRUE(table_->Contains(entries_[0].data()));
  EXPECT_TRUE(table_->Contains(entries_[1].data()));
  const std::string other = '\x09' + internal_key("a", 2);
  EXPECT_FALSE(table_->Contains(other.data()));
}

TEST_F(UnsortedMemTableTest, IteratorKeepsItsSnapshot) {
  insert("a", 1);
  const auto at = iterate();
  EXPECT_FALSE(at->Valid());
  insert("b", 2);
  at->SeekToFirst();
  ASSERT_TRUE(at->Valid());
  at->Next();
  EXPECT_FALSE(at->Valid());
}

TEST_F(UnsortedMemTableTest, EmptyTableHasNoEntries) {
  const auto at = iterate();
  at->SeekToFirst();
  EXPECT_FALSE(at->Valid());
  at->SeekToLast();
  EXPECT_FALSE(at->Valid());
  at->SeekForPrev(internal_key("a", 1), nullptr);
  EXPECT_FALSE(at->Valid());
}

// ---- In a database ----

using Records = std::vector<std::pair<std::string, std::string>>;

std::unique_ptr<rocksdb::DB> open(const TemporaryDirectory& directory) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.allow_concurrent_memtable_write = false;
  options.memtable_factory = std::make_shared<UnsortedMemTableFactory>();
  rocksdb::DB* db = nullptr;
  const auto opened = rocksdb::DB::Open(options, directory.path().native(), &db);
  EXPECT_TRUE(opened.ok()) << opened.ToString();
  return std::unique_ptr<rocksdb::DB>(db);
}

Records records_of(rocksdb::DB& db) {
  Records found;
  const std::unique_ptr<rocksdb::Iterator> at(db.NewIterator({}));
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    found.emplace_back(at->key().ToString(), at->value().ToString());
  }
  EXPECT_TRUE(at->status().ok()) << at->status().ToString();
  return found;
}

TEST(UnsortedMemTableDatabaseTest, RecordsSurviveFlushesAndReopenings) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  Random random(seed);
  const TemporaryDirectory directory;
  std::map<std::string, std::string> written;
  EXPECT_THAT(records_of(*open(directory)), IsEmpty());
  for (int round = 0; round < 3; ++round) {
    const auto db = open(directory);
    EXPECT_THAT(records_of(*db), ElementsAreArray(written));  // some of them from the log
    for (int i = 0; i < 5'000; ++i) {
      const std::string key = random_key(random);
      if (random.below(4) == 0) {
        ASSERT_TRUE(db->Delete({}, key).ok());
        written.erase(key);
      } else {
        ASSERT_TRUE(db->Put({}, key, std::to_string(i)).ok());
        written[key] = std::to_string(i);
      }
      if (i == 2'000) {
        ASSERT_TRUE(db->Flush({}).ok());
      }
    }
    EXPECT_THAT(records_of(*db), ElementsAreArray(written));
  }
}

}  // namespace
}  // namespace rushgate
