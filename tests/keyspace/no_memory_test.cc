// Memory that runs out in the middle of a change, or of a commit: all is as it was before.
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>

#include "engine/keyspace/keyspace.h"
#include "storage/memory/memory_store.h"
#include "tests/executor/failing_allocator.h"
#include "tests/keyspace/keyspace_dump.h"
#include "tests/keyspace/random_changes.h"
#include "tests/random_seed.h"

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
    EXPECT_THAT(dump(keyspace()), testing::ContainerEq(lines));
    EXPECT_EQ(keyspace().changes().memory().bytes(), measured_bytes(keyspace()));
  }

  /// Allocations fail somewhere in the next change; it is made if none did.
  void change(std::uint64_t before) {
    const std::vector<std::string> lines = dump(keyspace());
    const Changes::Mark mark = keyspace().changes().mark();
    {
      const AllocationsFail failing(random_.below(2) == 0 ? How::kFrom : How::kOnce, before);
      try {
        return random_.change(keyspace());
      } catch (const std::bad_alloc&) {
        keyspace().changes().roll_back_to(mark);
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

TEST_P(KeyspaceNoMemoryTest, LeavesEverythingAsItWas) {
  SCOPED_TRACE(seed_text(seed_));
  for (int batch = 0; batch < 300 && !HasFailure(); ++batch) {
    SCOPED_TRACE("batch " + std::to_string(batch));
    const std::vector<std::string> lines = dump(keyspace());
    for (std::size_t i = random_.below(30); i > 0 && !HasFailure(); --i) {
      change(random_.below(2) == 0 ? kNever : random_.below(40));
    }
    commit(lines);
    if (random_.below(10) != 0) continue;
    const std::vector<std::string> lines_kept = dump(keyspace());
    reopen();
    expect(lines_kept);
  }
}

INSTANTIATE_TEST_SUITE_P(, KeyspaceNoMemoryTest,
                         testing::Values(Types{"Strings", {ValueType::kString}},
                                         Types{"Hashes", {ValueType::kHash}},
                                         Types{"Sets", {ValueType::kSet}}),
                         [](const auto& suite) { return suite.param.name; });

}  // namespace
}  // namespace rushgate
