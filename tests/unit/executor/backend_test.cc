// The engine as a backend: the port that sale and recipes use.
#include <memory>
#include <string>
#include <vector>

#include "tests/support/null_store.h"
#include "tests/unit/executor/engine_fixture.h"
#include <rushgate/backend.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

TEST(EngineBackendTest, ClientsShareKeyspaceNotSession) {
  const auto engine = open_engine();
  Backend& backend = *engine;
  const auto one = backend.open_client();
  const auto other = backend.open_client({.protocol = 3});
  (*one)("SELECT", 1);
  (*one)("SET", "k", "v");
  EXPECT_EQ((*other)("GET", "k"), Reply::nil());
  (*other)("SELECT", 1);
  EXPECT_EQ((*other)("GET", "k"), Reply::bulk("v"));
}

TEST(EngineBackendTest, TimersFollowClock) {
  ManualClock clock;
  const auto engine = open_engine({.manual_clock = &clock});
  Backend& backend = *engine;
  int fired = 0;
  backend.scheduler().at(backend.clock().monotonic_ms() + 10, [&] { ++fired; });
  engine->advance_ms(9);
  EXPECT_EQ(fired, 0);
  engine->advance_ms(1);
  EXPECT_EQ(fired, 1);
}

TEST(EngineBackendTest, AddedNativeScriptRuns) {
  const auto engine = open_engine();
  Backend& backend = *engine;
  EXPECT_TRUE(backend.capabilities().runs_native_scripts);
  const std::vector<NamedScript> scripts = {
      {"answer", [](NativeCall&) { return Reply::integer(42); }}};
  backend.add_native_scripts(scripts);
  EXPECT_EQ((*backend.open_client())("FCALL", "answer", 0), Reply::integer(42));
}

/// A store that claims to keep its data on a disk.
class DiskStore final : public NullStore {
 public:
  [[nodiscard]] Durability durability() const override { return Durability::kOs; }
};

TEST(EngineBackendTest, EngineWaitsForDiskIfStoreHasOne) {
  EXPECT_FALSE(open_engine()->capabilities().waits_for_disk);
  const auto on_disk = open_engine({}, {}, std::make_unique<DiskStore>());
  EXPECT_TRUE(on_disk->capabilities().waits_for_disk);
}

TEST(EngineBackendTest, HealthNamesStoreFailure) {
  auto store = std::make_unique<faults::FaultyStore>(std::make_unique<MemoryStore>());
  faults::FaultyStore& faulty = *store;
  const auto engine = open_engine({}, {}, std::move(store));
  Backend& backend = *engine;
  EXPECT_TRUE(backend.health().ok());
  faulty.fail_commit(1, faults::FaultyStore::Kept::kNo);
  (*backend.open_client())("SET", "k", "v");
  EXPECT_FALSE(backend.health().ok());
}

}  // namespace
}  // namespace rushgate
