// Expired keys are removed in portions, without an fsync for each.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/null_store.h"
#include "tests/unit/executor/engine_fixture.h"
#include <rushgate/engine.h>

namespace rushgate {
namespace {

constexpr std::size_t kPortion = 128;

/// Counts the commits and fsyncs of a store with durability kSync.
struct SyncedCommits {
  std::size_t commits = 0;
  std::size_t fsyncs = 0;
  std::size_t removals_max = 0;  // in one commit
};

class SyncedStore final : public NullStore {
 public:
  explicit SyncedStore(SyncedCommits& counted) : counted_(counted) {}
  absl::Status commit(const StoreBatch& batch) override {
    ++counted_.commits;
    if (!batch.is_sync_deferred()) ++counted_.fsyncs;
    Removals removals;
    batch.visit(removals);
    counted_.removals_max = std::max(counted_.removals_max, removals.count);
    return absl::OkStatus();
  }
  [[nodiscard]] Durability durability() const override { return Durability::kSync; }

 private:
  struct Removals final : StoreBatch::Visitor {
    std::size_t count = 0;
    void put(std::string_view, std::string_view) override {}
    void remove(std::string_view) override { ++count; }
    void remove_range(std::string_view, std::string_view) override {}
    void append_segment(std::uint64_t, StreamId, std::string_view) override {}
    void trim_stream(std::uint64_t, StreamId) override {}
    void remove_segment(std::uint64_t, StreamId) override {}
    void drop_streams(std::uint64_t, std::uint64_t) override {}
  };

  SyncedCommits& counted_;
};

class ExpiryTest : public ::testing::Test {
 protected:
  void set_keys(std::size_t count, int px) {
    std::vector<Request> requests;
    for (std::size_t i = 0; i < count; ++i) {
      requests.push_back(Request::of("SET", "k" + std::to_string(i), i, "PX", px));
    }
    client_->pipeline(requests);
  }

  SyncedCommits counted_;
  ManualClock clock_;
  std::unique_ptr<Engine> engine_ =
      open_engine({.manual_clock = &clock_}, {}, std::make_unique<SyncedStore>(counted_));
  std::unique_ptr<Client> client_ = engine_->open_client();
};

TEST_F(ExpiryTest, RemovalsAloneNeedNoFsync) {
  constexpr std::size_t kKeys = 20 * kPortion;
  set_keys(kKeys, 100);
  counted_ = {};
  engine_->advance_ms(100);
  EXPECT_EQ((*client_)("DBSIZE"), Reply::integer(0));
  EXPECT_EQ(counted_.commits, kKeys / kPortion);
  EXPECT_EQ(counted_.removals_max, kPortion);
  EXPECT_EQ(counted_.fsyncs, 0U);
}

TEST_F(ExpiryTest, RemovalsShareFsyncOfWrite) {
  set_keys(2 * kPortion, 100);
  counted_ = {};
  clock_.advance_ms(100);
  (*client_)("SET", "other", "v");
  EXPECT_EQ(counted_.commits, 1U);
  EXPECT_EQ(counted_.removals_max, kPortion);
  EXPECT_EQ(counted_.fsyncs, 1U);
  EXPECT_EQ((*client_)("DBSIZE"), Reply::integer(1));
  EXPECT_EQ(counted_.fsyncs, 1U);
}

}  // namespace
}  // namespace rushgate
