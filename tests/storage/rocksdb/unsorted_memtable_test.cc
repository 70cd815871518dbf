// In a real database, beside what std::map says.
#include "storage/rocksdb/unsorted_memtable.h"

#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include "engine/base/random.h"
#include "tests/random_seed.h"
#include "tests/temporary_directory.h"

namespace rushgate {
namespace {

using ::testing::ContainerEq;
using ::testing::IsEmpty;

using Records = std::map<std::string, std::string>;

class UnsortedMemTableTest : public ::testing::Test {
 protected:
  UnsortedMemTableTest() {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.allow_concurrent_memtable_write = false;
    options.memtable_factory = std::make_shared<UnsortedMemTableFactory>();
    rocksdb::DB* db = nullptr;
    const auto opened = rocksdb::DB::Open(options, directory_.path().native(), &db);
    EXPECT_TRUE(opened.ok()) << opened.ToString();
    db_.reset(db);
  }

  void put(const std::string& key, const std::string& value) {
    ASSERT_TRUE(db_->Put({}, key, value).ok());
    written_[key] = value;
  }
  void remove(const std::string& key) {
    ASSERT_TRUE(db_->Delete({}, key).ok());
    written_.erase(key);
  }

  [[nodiscard]] std::unique_ptr<rocksdb::Iterator> iterate() const {
    return std::unique_ptr<rocksdb::Iterator>(db_->NewIterator({}));
  }
  [[nodiscard]] Records forwards() const {
    Records found;
    const auto at = iterate();
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      found.emplace_hint(found.end(), at->key().ToString(), at->value().ToString());
    }
    EXPECT_TRUE(at->status().ok()) << at->status().ToString();
    return found;
  }
  [[nodiscard]] Records backwards() const {
    Records found;
    const auto at = iterate();
    for (at->SeekToLast(); at->Valid(); at->Prev()) {
      found.emplace_hint(found.begin(), at->key().ToString(), at->value().ToString());
    }
    return found;
  }
  void flush() { ASSERT_TRUE(db_->Flush({}).ok()); }

  const TemporaryDirectory directory_;
  std::unique_ptr<rocksdb::DB> db_;
  Records written_;
};

/// Such that many begin alike, for longer than is sorted piece by piece, end inside a piece or on
/// its border, or go on with the zeros that stand behind the end of others.
std::string random_key(Random& random) {
  std::string key(random.below(3) * 40, 'p');
  for (auto bytes = random.below(20); bytes > 0; --bytes) {
    key += "\0\0ab\xFF"[random.below(5)];
  }
  return key;
}

TEST_F(UnsortedMemTableTest, IsInTheOrderOfKeysBeforeAndAfterItIsWrittenOut) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  Random random(seed);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 5'000; ++i) {
      const std::string key = random_key(random);
      random.below(4) == 0 ? remove(key) : put(key, std::to_string(i));
    }
    EXPECT_THAT(forwards(), ContainerEq(written_));
    EXPECT_THAT(backwards(), ContainerEq(written_));
    flush();
    EXPECT_THAT(forwards(), ContainerEq(written_));
  }
}

TEST_F(UnsortedMemTableTest, SeeksWhatStdMapFinds) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  Random random(seed);
  for (int i = 0; i < 2'000; ++i) put(random_key(random), std::to_string(i));
  const auto at = iterate();
  for (int i = 0; i < 2'000; ++i) {
    const std::string key = random_key(random);
    at->Seek(key);
    const auto next = written_.lower_bound(key);
    ASSERT_EQ(at->Valid(), next != written_.end());
    if (at->Valid()) {
      EXPECT_EQ(at->key(), next->first);
    }
    at->SeekForPrev(key);
    const auto after = written_.upper_bound(key);
    ASSERT_EQ(at->Valid(), after != written_.begin());
    if (at->Valid()) {
      EXPECT_EQ(at->key(), std::prev(after)->first);
    }
  }
}

TEST_F(UnsortedMemTableTest, AnswersWhatWasWrittenLast) {
  for (int i = 0; i < 1'000; ++i) put("stock", std::to_string(i));
  std::string value;
  ASSERT_TRUE(db_->Get({}, "stock", &value).ok());
  EXPECT_EQ(value, "999");
  flush();
  EXPECT_THAT(forwards(), ContainerEq(Records{{"stock", "999"}}));
}

TEST_F(UnsortedMemTableTest, AnIteratorKeepsWhatItSaw) {
  put("a", "1");
  const auto at = iterate();
  put("a", "2");
  put("b", "1");
  at->SeekToFirst();
  ASSERT_TRUE(at->Valid());
  EXPECT_EQ(at->value(), "1");
  at->Next();
  EXPECT_FALSE(at->Valid());
}

TEST_F(UnsortedMemTableTest, MayBeEmpty) {
  EXPECT_THAT(forwards(), IsEmpty());
  EXPECT_THAT(backwards(), IsEmpty());
}

}  // namespace
}  // namespace rushgate
