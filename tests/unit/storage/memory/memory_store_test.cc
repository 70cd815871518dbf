#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tests/project/cookbook/counting_store.h"
#include <rushgate/memory_store.h>
#include <rushgate/store_contract.h>

namespace rushgate::store_contract {
namespace {

class MemorySubject final : public Subject {
 public:
  Store& store() override { return store_; }
  void reopen() override {}

 private:
  MemoryStore store_{{.keep_state = true}};
};

/// The store of docs/cookbook.md, which forwards to another.
class CountingSubject final : public Subject {
 public:
  Store& store() override { return store_; }
  void reopen() override {}

 private:
  CommitCounts counts_;
  CountingStore store_{std::make_unique<MemoryStore>(MemoryStoreOptions{.keep_state = true}),
                       counts_};
};

template <class MadeSubject>
std::unique_ptr<Subject> make() {
  return std::make_unique<MadeSubject>();
}

INSTANTIATE_TEST_SUITE_P(All, StoreTest,
                         ::testing::Values(Maker{"Memory", make<MemorySubject>},
                                           Maker{"Counting", make<CountingSubject>}),
                         name_of);

TEST(MemoryStoreTest, StateIsDroppedByDefault) {
  MemoryStore store;
  StoreBatch batch;
  batch.put("key", "value");
  batch.remove("key");
  batch.remove_range("k", "l");
  batch.put("key", "value");
  ASSERT_TRUE(store.commit(batch).ok());
  ASSERT_TRUE(store.load([](std::string_view, std::string_view) { FAIL(); }).ok());
  EXPECT_EQ(store.durability(), Durability::kMemory);
}

TEST(MemoryStoreTest, SingleEntrySegmentHasFewOverheadBytes) {
  constexpr std::uint64_t kSegments = 100'000;
  const std::string bytes(40, 'x');
  MemoryStore store;
  StoreBatch batch;
  for (std::uint64_t segment = 0; segment < kSegments; ++segment) {
    batch.clear();
    batch.append_segment(1, {1'700'000'000'000 + segment / 3, segment % 3}, bytes);
    ASSERT_TRUE(store.commit(batch).ok());
  }
  EXPECT_LT(store.memory_bytes(), kSegments * (bytes.size() + 5));
}

TEST(MemoryStoreTest, TrimmingFreesMemory) {
  MemoryStore store;
  StoreBatch batch;
  for (std::uint64_t segment = 0; segment < 10'000; ++segment) {
    batch.append_segment(1, {segment, 0}, std::string(40, 'x'));
  }
  batch.trim_stream(1, StreamId::max());
  ASSERT_TRUE(store.commit(batch).ok());
  EXPECT_LT(store.memory_bytes(), 5'000U);
}

}  // namespace
}  // namespace rushgate::store_contract
