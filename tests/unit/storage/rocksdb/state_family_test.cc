// The memtable of the state records cannot be searched, and iteration copies and sorts it
// (storage/rocksdb/unsorted_memtable.h). So the store reads these records only in load().
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/utilities/stackable_db.h>
#include <rocksdb/version.h>
#include <rocksdb/write_batch.h>

#include "engine/core/base/random.h"
#include "storage/rocksdb/layout.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/clock.h>
#include <rushgate/engine.h>
#include <rushgate/random_seed.h>
#include <rushgate/rocksdb_store.h>

namespace rushgate {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

/// Counts the calls of a database by column family.
struct Uses {
  std::map<std::string, int> searches;
  std::map<std::string, int> iterators;
  std::map<std::string, int> merges;
  std::map<std::string, int> writes;
};

class WatchedDb final : public rocksdb::StackableDB {
 public:
  WatchedDb(rocksdb::DB* db, std::shared_ptr<Uses> uses)
      : StackableDB(db), uses_(std::move(uses)) {}

  // Since RocksDB 9 every search goes through two functions with timestamps.
  using StackableDB::Get;
  using StackableDB::MultiGet;
#if ROCKSDB_MAJOR >= 9
  rocksdb::Status Get(const rocksdb::ReadOptions& options, rocksdb::ColumnFamilyHandle* family,
                      const rocksdb::Slice& key, rocksdb::PinnableSlice* value,
                      std::string* timestamp) override {
    ++uses_->searches[family->GetName()];
    return StackableDB::Get(options, family, key, value, timestamp);
  }
  void MultiGet(const rocksdb::ReadOptions& options, std::size_t count,
                rocksdb::ColumnFamilyHandle** families, const rocksdb::Slice* keys,
                rocksdb::PinnableSlice* values, std::string* timestamps, rocksdb::Status* statuses,
                bool is_sorted) override {
    for (std::size_t i = 0; i < count; ++i) ++uses_->searches[families[i]->GetName()];
    StackableDB::MultiGet(options, count, families, keys, values, timestamps, statuses, is_sorted);
  }
#else
  rocksdb::Status Get(const rocksdb::ReadOptions& options, rocksdb::ColumnFamilyHandle* family,
                      const rocksdb::Slice& key, rocksdb::PinnableSlice* value) override {
    ++uses_->searches[family->GetName()];
    return StackableDB::Get(options, family, key, value);
  }
  std::vector<rocksdb::Status> MultiGet(const rocksdb::ReadOptions& options,
                                        const std::vector<rocksdb::ColumnFamilyHandle*>& families,
                                        const std::vector<rocksdb::Slice>& keys,
                                        std::vector<std::string>* values) override {
    for (const auto* family : families) ++uses_->searches[family->GetName()];
    return StackableDB::MultiGet(options, families, keys, values);
  }
  void MultiGet(const rocksdb::ReadOptions& options, rocksdb::ColumnFamilyHandle* family,
                std::size_t count, const rocksdb::Slice* keys, rocksdb::PinnableSlice* values,
                rocksdb::Status* statuses, bool is_sorted) override {
    ++uses_->searches[family->GetName()];
    StackableDB::MultiGet(options, family, count, keys, values, statuses, is_sorted);
  }
#endif
  using StackableDB::GetEntity;
  rocksdb::Status GetEntity(const rocksdb::ReadOptions& options,
                            rocksdb::ColumnFamilyHandle* family, const rocksdb::Slice& key,
                            rocksdb::PinnableWideColumns* columns) override {
    ++uses_->searches[family->GetName()];
    return StackableDB::GetEntity(options, family, key, columns);
  }
  using StackableDB::KeyMayExist;
  bool KeyMayExist(const rocksdb::ReadOptions& options, rocksdb::ColumnFamilyHandle* family,
                   const rocksdb::Slice& key, std::string* value, bool* found) override {
    ++uses_->searches[family->GetName()];
    return StackableDB::KeyMayExist(options, family, key, value, found);
  }

  using StackableDB::NewIterator;
  rocksdb::Iterator* NewIterator(const rocksdb::ReadOptions& options,
                                 rocksdb::ColumnFamilyHandle* family) override {
    ++uses_->iterators[family->GetName()];
    return StackableDB::NewIterator(options, family);
  }
  rocksdb::Status NewIterators(const rocksdb::ReadOptions& options,
                               const std::vector<rocksdb::ColumnFamilyHandle*>& families,
                               std::vector<rocksdb::Iterator*>* iterators) override {
    for (const auto* family : families) ++uses_->iterators[family->GetName()];
    return StackableDB::NewIterators(options, families, iterators);
  }

  using StackableDB::Merge;
  rocksdb::Status Merge(const rocksdb::WriteOptions& options, rocksdb::ColumnFamilyHandle* family,
                        const rocksdb::Slice& key, const rocksdb::Slice& value) override {
    ++uses_->merges[family->GetName()];
    return StackableDB::Merge(options, family, key, value);
  }
  rocksdb::Status Write(const rocksdb::WriteOptions& options, rocksdb::WriteBatch* batch) override {
    Counter counter(*uses_);
    const rocksdb::Status counted = batch->Iterate(&counter);
    return counted.ok() ? StackableDB::Write(options, batch) : counted;
  }

 private:
  class Counter final : public rocksdb::WriteBatch::Handler {
   public:
    explicit Counter(Uses& uses) : uses_(uses) {}

    rocksdb::Status PutCF(std::uint32_t family, const rocksdb::Slice&,
                          const rocksdb::Slice&) override {
      return count(uses_.writes, family);
    }
    rocksdb::Status DeleteCF(std::uint32_t family, const rocksdb::Slice&) override {
      return count(uses_.writes, family);
    }
    rocksdb::Status DeleteRangeCF(std::uint32_t family, const rocksdb::Slice&,
                                  const rocksdb::Slice&) override {
      return count(uses_.writes, family);
    }
    rocksdb::Status MergeCF(std::uint32_t family, const rocksdb::Slice&,
                            const rocksdb::Slice&) override {
      return count(uses_.merges, family);
    }
    void LogData(const rocksdb::Slice&) override {}

   private:
    /// In order of creation by the store.
    static rocksdb::Status count(std::map<std::string, int>& uses, std::uint32_t family) {
      ++uses[family == 1 ? kStateFamily : family == 2 ? kStreamFamily : "another"];
      return rocksdb::Status::OK();
    }

    Uses& uses_;
  };

  const std::shared_ptr<Uses> uses_;
};

/// An engine over a watched store in the directory.
class WatchedEngine {
 public:
  WatchedEngine(const std::filesystem::path& dir, ManualClock& clock) {
    RocksDbStoreOptions options;
    options.log_bytes_max = std::size_t{64} << 10;  // so small that tables are written and read
    options.wrap_database = [this](rocksdb::DB* db) { return new WatchedDb(db, uses_); };
    auto store = RocksDbStore::open(dir, options);
    EXPECT_TRUE(store.ok()) << store.status();
    auto engine = Engine::open(*std::move(store), {.manual_clock = &clock});
    EXPECT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
    client_ = engine_->open_client();
  }

  template <class... Args>
  void call(Args... args) {
    const Reply reply = (*client_)(args...);
    if (!reply.is_error()) return;
    EXPECT_THAT(std::string(reply.text()), Not(StartsWith("OUTCOMEUNKNOWN")));
  }
  void advance_ms(std::int64_t ms) { engine_->advance_ms(ms); }
  [[nodiscard]] const Uses& uses() const { return *uses_; }

 private:
  const std::shared_ptr<Uses> uses_ = std::make_shared<Uses>();
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Client> client_;
};

/// Creates, changes, moves and deletes values of every type.
void change_something(WatchedEngine& engine, Random& random) {
  const std::string key = "k" + std::to_string(random.below(12));
  const std::string other = "k" + std::to_string(random.below(12));
  const std::string item = std::to_string(random.below(30));
  switch (random.below(24)) {
    case 0:
      return engine.call("SET", key, item, "PX", 1 + random.below(300));
    case 1:
      return engine.call("SET", key, item);
    case 2:
      return engine.call("SADD", key, item);
    case 3:
      return engine.call("SADD", key, item, item + "a", item + "b", item + "c");
    case 4:
      return engine.call("SREM", key, item, item + "a");
    case 5:
      return engine.call("SPOP", key);
    case 6:
      return engine.call("HSET", key, item, item, item + "f", item);
    case 7:
      return engine.call("HDEL", key, item);
    case 8:
      return engine.call("RPUSH", key, item, item);
    case 9:
      return engine.call("LINSERT", key, "BEFORE", item, "x");
    case 10:
      return engine.call("LPOP", key, 2);
    case 11:
      return engine.call("LTRIM", key, 0, 1);
    case 12:
      return engine.call("ZADD", key, item, item);
    case 13:
      return engine.call("ZREM", key, item);
    case 14:
      return engine.call("XADD", key, "MAXLEN", 20, "*", "f", item);
    case 15:
      return engine.call("XTRIM", key, "MAXLEN", 3);
    case 16:
      return engine.call("XGROUP", "CREATE", key, "g" + item, 0, "MKSTREAM");
    case 17:
      return engine.call("COPY", key, other, "REPLACE");
    case 18:
      return engine.call("DEL", key);
    case 19:
      return engine.call("UNLINK", key, other);
    case 20:
      return engine.call("PEXPIRE", key, 1 + random.below(300));
    case 21:
      return engine.call("EVAL", "return redis.call('DEL', KEYS[1])", 1, key);
    case 22:
      return engine.advance_ms(static_cast<std::int64_t>(random.below(100)));
    default:
      return random.below(20) == 0 ? engine.call("FLUSHALL") : engine.call("TYPE", key);
  }
}

TEST(StateFamilyTest, StateIsReadOnlyDuringLoad) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  Random random(seed);
  const TemporaryDirectory directory;
  ManualClock clock;
  for (int round = 0; round < 4; ++round) {
    WatchedEngine engine(directory.path() / "keyspace", clock);
    for (int i = 0; i < 1'500; ++i) change_something(engine, random);
    const Uses& uses = engine.uses();
    EXPECT_THAT(uses.searches, IsEmpty());
    EXPECT_THAT(uses.merges, IsEmpty());
    EXPECT_EQ(uses.iterators.at(kStateFamily), 1) << "load() creates one iterator";
    EXPECT_THAT(uses.iterators, Contains(Key(kStreamFamily))) << "the watch detects iterators";
    EXPECT_THAT(uses.writes, UnorderedElementsAre(Key(kStateFamily), Key(kStreamFamily)));
  }
}

}  // namespace
}  // namespace rushgate
