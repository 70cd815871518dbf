// Memory runs out during a change or a commit: the keyspace stays as it was before.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>

#include "engine/redis/keyspace/keyspace.h"
#include "tests/support/faults/failing_allocator.h"
#include "tests/support/sweep.h"
#include "tests/unit/keyspace/keyspace_dump.h"
#include "tests/unit/keyspace/random_changes.h"
#include <rushgate/memory_store.h>
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

struct Types {
  const char* name;
  std::vector<ValueType> types;
};

class KeyspaceNoMemoryTest : public ::testing::TestWithParam<Types> {
 protected:
  using How = AllocationsFail::How;

  KeyspaceNoMemoryTest() { reopen(); }

  void reopen() {
    const std::int64_t now_ms = keyspace_ == nullptr ? 1'000 : keyspace_->now_ms();
    keyspace_ = std::make_unique<Keyspace>(store_, 1);
    ASSERT_TRUE(keyspace_->load().ok());
    keyspace_->set_now_ms(now_ms);
  }
  Keyspace& keyspace() { return *keyspace_; }

  void expect(const std::vector<std::string>& lines) {
    EXPECT_THAT(dump(keyspace()), ::testing::ContainerEq(lines));
    EXPECT_EQ(keyspace().changes().memory().bytes(), measured_bytes(keyspace()));
  }

  /// Makes an allocation in the next change fail. The change takes effect if none failed.
  void change(std::uint64_t before) {
    const std::vector<std::string> lines = dump(keyspace());
    const Changes::Savepoint savepoint = keyspace().changes().savepoint();
    {
      const AllocationsFail failing(random_.below(2) == 0 ? How::kFrom : How::kOnce, before);
      try {
        return random_.change(keyspace());
      } catch (const std::bad_alloc&) {
        keyspace().changes().roll_back_to(savepoint);
      }
    }
    expect(lines);
  }

  void commit(const std::vector<std::string>& lines_at_begin) {
    const std::vector<std::string> lines = dump(keyspace());
    bool is_kept = true;
    {
      const AllocationsFail failing(random_.below(2) == 0 ? How::kFrom : How::kOnce,
                                    random_.below(40));
      try {
        EXPECT_TRUE(keyspace().commit().ok());
      } catch (const std::bad_alloc&) {
        is_kept = false;
      }
    }
    expect(is_kept ? lines : lines_at_begin);
  }

  static constexpr std::uint64_t kNever = std::uint64_t{1} << 62;
  const std::uint64_t seed_ = random_seed();
  RandomChanges random_{seed_, GetParam().types};
  MemoryStore store_{{.keep_state = true}};

 private:
  std::unique_ptr<Keyspace> keyspace_;
};

TEST_P(KeyspaceNoMemoryTest, FailedChangeLeavesKeyspaceUnchanged) {
  SCOPED_TRACE(seed_text(seed_));
  const int batches = testing::is_full_run() ? 300 : 100;
  for (int batch = 0; batch < batches && !HasFailure(); ++batch) {
    SCOPED_TRACE("batch " + std::to_string(batch));
    const std::vector<std::string> lines = dump(keyspace());
    for (std::size_t i = random_.below(30); i > 0 && !HasFailure(); --i) {
      change(random_.below(2) == 0 ? kNever : random_.below(40));
    }
    commit(lines);
    if (random_.below(10) != 0) continue;
    const std::vector<std::string> lines_kept = dump(keyspace(), FieldOrder::kHidden);
    reopen();
    EXPECT_THAT(dump(keyspace(), FieldOrder::kHidden), ::testing::ContainerEq(lines_kept));
    EXPECT_EQ(keyspace().changes().memory().bytes(), measured_bytes(keyspace()));
  }
}

INSTANTIATE_TEST_SUITE_P(, KeyspaceNoMemoryTest,
                         ::testing::Values(Types{"Strings", {ValueType::kString}},
                                           Types{"Hashes", {ValueType::kHash}},
                                           Types{"Sets", {ValueType::kSet}},
                                           Types{"SortedSets", {ValueType::kSortedSet}},
                                           Types{"Lists", {ValueType::kList}},
                                           Types{"Streams", {ValueType::kStream}},
                                           Types{"All", RandomChanges::all_types()}),
                         [](const auto& suite) { return suite.param.name; });

// ---- Sorted sets, packed and of several levels ----

std::vector<std::pair<std::string, double>> elements_of(const SortedSetValue& value) {
  std::vector<std::pair<std::string, double>> elements;
  value.for_each(0, value.size(), [&](const ScoredElement& element) {
    elements.emplace_back(element.member, element.score);
  });
  return elements;
}

class SortedSetNoMemoryTest : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(SortedSetNoMemoryTest, ChangesAreUndoneWithoutMemory) {
  const std::uint64_t members_max = GetParam();
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  const EncodingLimits limits;
  SortedSetValue value(seed);
  const auto assign = [&](double score) {
    const std::string member = std::to_string(random() % members_max);
    if (!value.is_large() && value.outgrows(limits, member)) value.grow();
    return value.assign(member, score);
  };
  for (std::uint64_t i = 0; i < members_max / 4; ++i) assign(static_cast<double>(i));
  using Step = std::variant<SortedSetValue::Assigned, SortedSetValue::Erased>;
  for (int round = 0; round < 40 && !::testing::Test::HasFailure(); ++round) {
    const auto elements = elements_of(value);
    const std::size_t changes = random() % 5'000;
    const std::uint64_t erasures_in_ten = random() % 11;
    const std::uint64_t score_max = random() % 2 == 0 ? 10 : 100'000;
    std::vector<Step> steps;
    for (std::size_t i = 0; i < changes; ++i) {
      if (random() % 10 < erasures_in_ten && value.size() > 0) {
        const std::size_t rank = random() % std::min<std::size_t>(value.size(), 500);
        steps.emplace_back(value.erase(std::string(value.at(rank).member)));
      } else {
        steps.emplace_back(assign(static_cast<double>(random() % score_max)));
      }
    }
    {
      const AllocationsFail failing(AllocationsFail::How::kFrom, 0);
      for (; !steps.empty(); steps.pop_back()) {
        std::visit([&](auto& step) { value.roll_back(std::move(step)); }, steps.back());
      }
    }
    EXPECT_EQ(elements_of(value), elements);
    EXPECT_EQ(value.memory_bytes(), value.measured_bytes());
    value.shrink();
    for (std::size_t i = 0; i < 200; ++i) assign(-1);
  }
}

constexpr std::uint64_t kSmallMembersMax = 100;
constexpr std::uint64_t kLargeMembersMax = 20'000;
INSTANTIATE_TEST_SUITE_P(Sizes, SortedSetNoMemoryTest,
                         ::testing::Values(kSmallMembersMax, kLargeMembersMax),
                         [](const auto& suite) { return "Of" + std::to_string(suite.param); });

}  // namespace
}  // namespace rushgate
