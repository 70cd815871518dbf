// Makes each allocation of a commit or sync of the store on disk fail once.
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/faults/failing_allocator.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/rocksdb_store.h>

namespace rushgate {
namespace {

using How = AllocationsFail::How;

class NoMemoryStoreTest : public ::testing::TestWithParam<How> {
 protected:
  NoMemoryStoreTest() { reopen(); }

  void reopen() {
    store_.reset();
    auto store = RocksDbStore::open(scratch_.path() / "keyspace", {.durability = Durability::kOs});
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    kept_.clear();
    ASSERT_TRUE(store_
                    ->load([this](std::string_view key, std::string_view value) {
                      kept_.emplace(key, value);
                    })
                    .ok());
  }

  /// Returns a batch that sets two records to `value`, one of them large, and appends to a stream.
  static StoreBatch batch_of(std::uint64_t value) {
    StoreBatch batch;
    batch.put("Hfirst", std::to_string(value));
    batch.put("Hsecond", std::to_string(value) + std::string(10'000, 'x'));
    batch.append_segment(1, {value, 0}, "a segment");
    return batch;
  }
  /// Returns the value that the batches have set. Expects both records to have it.
  std::uint64_t kept_value() {
    const std::uint64_t first = std::stoull(kept_["Hfirst"]);
    EXPECT_EQ(kept_["Hsecond"].substr(0, kept_["Hfirst"].size()), kept_["Hfirst"]);
    std::vector<StreamSegment> segments;
    EXPECT_TRUE(store_->read_stream_back(1, StreamId::max(), StreamId::min(), 1, segments).ok());
    EXPECT_EQ(segments.at(0).first.ms, first);
    return first;
  }

  TemporaryDirectory scratch_;
  std::unique_ptr<RocksDbStore> store_;
  std::map<std::string, std::string> kept_;
};

TEST_P(NoMemoryStoreTest, CommitKeepsAllNoneOrFails) {
  ASSERT_TRUE(store_->commit(batch_of(1)).ok());
  std::uint64_t last = 1;  // the last value of a successful commit
  bool has_failed = true;
  int failures = 0;
  for (std::uint64_t before = 0; has_failed && !HasFailure(); ++before) {
    SCOPED_TRACE("allocation " + std::to_string(before));
    const std::uint64_t value = before + 2;
    const StoreBatch batch = batch_of(value);
    std::optional<absl::Status> status;
    {
      const AllocationsFail failing(GetParam(), before);
      try {
        status = store_->commit(batch);
      } catch (const std::bad_alloc&) {
      }
    }
    has_failed = AllocationsFail::has_failed();
    if (status && status->ok()) last = value;
    if (!status || status->ok()) continue;
    ++failures;
    EXPECT_EQ(status->code(), absl::StatusCode::kResourceExhausted);
    EXPECT_FALSE(store_->commit(batch).ok()) << "the store no longer knows its contents";
    reopen();
    const std::uint64_t kept = kept_value();
    EXPECT_TRUE(kept == last || kept == value) << kept;
    last = kept;
  }
  EXPECT_GT(failures, 0) << "no allocation in RocksDB failed";
  reopen();
  EXPECT_EQ(kept_value(), last);
}

TEST_P(NoMemoryStoreTest, SyncSucceedsOrFails) {
  bool has_failed = true;
  for (std::uint64_t before = 0; has_failed && !HasFailure(); ++before) {
    SCOPED_TRACE("allocation " + std::to_string(before));
    ASSERT_TRUE(store_->commit(batch_of(before + 1)).ok());
    absl::Status status;
    {
      const AllocationsFail failing(GetParam(), before);
      EXPECT_NO_THROW(status = store_->sync());
    }
    has_failed = AllocationsFail::has_failed();
    if (status.ok()) continue;
    EXPECT_FALSE(store_->commit(batch_of(0)).ok());
    reopen();
    EXPECT_EQ(kept_value(), before + 1);
  }
}

INSTANTIATE_TEST_SUITE_P(, NoMemoryStoreTest, ::testing::Values(How::kOnce, How::kFrom),
                         [](const auto& parameter) {
                           return parameter.param == How::kOnce ? "Once" : "FromThen";
                         });

}  // namespace
}  // namespace rushgate
