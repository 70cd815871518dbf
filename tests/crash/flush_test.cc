// FLUSHALL and FLUSHDB, interrupted at every disk operation. Afterwards either all or none of their
// data is removed.
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/crash/recovery_fixture.h"
#include "tests/support/faults/power_cut_file_system.h"
#include <rushgate/clock.h>
#include <rushgate/engine.h>
#include <rushgate/random_seed.h>
#include <rushgate/rocksdb_store.h>

namespace rushgate {
namespace {

namespace fs = std::filesystem;

enum class Interruption : std::uint8_t {
  kKill,         // all writes survive
  kPowerCut,     // unsynced writes are lost
  kPowerFlicker  // a part of them is lost, chosen by a seed
};

struct Flush {
  const char* command;
  Durability durability;
  Interruption interruption;
};

class FlushTest : public ::testing::TestWithParam<Flush> {
 protected:
  /// The sizes of collections and the lengths of strings, by database and key.
  using Contents = std::map<std::string, std::int64_t>;

  static constexpr int kOfEach = 40;
  static constexpr int kDatabases = 2;

  class Running {
   public:
    Running(const fs::path& dir, Durability durability, rocksdb::Env* env) {
      RocksDbStoreOptions options;
      options.durability = durability;
      options.log_bytes_max = 20'000;  // keeps some data in tables, some in the log
      options.env = env;
      auto store = RocksDbStore::open(dir, options);
      status_ = store.status();
      if (!store.ok()) return;
      auto engine = Engine::open(*std::move(store), {.manual_clock = &clock_});
      status_ = engine.status();
      if (!engine.ok()) return;
      engine_ = *std::move(engine);
      client_ = engine_->open_client();
    }

    [[nodiscard]] const absl::Status& status() const { return status_; }
    [[nodiscard]] Client& client() { return *client_; }

    Contents contents() {
      static const std::map<std::string, const char*> kSize = {
          {"set", "SCARD"}, {"hash", "HLEN"},   {"sorted", "ZCARD"},
          {"list", "LLEN"}, {"stream", "XLEN"}, {"string", "STRLEN"}};
      Contents found;
      for (int db = 0; db < kDatabases; ++db) {
        client()("SELECT", db);
        std::int64_t keys = 0;
        for (int i = 0; i < kOfEach; ++i) {
          for (const auto& [type, size] : kSize) {
            const std::string key = type + std::to_string(i);
            const std::int64_t bytes = client()(size, key).integer();
            if (bytes == 0) continue;
            found[std::to_string(db) + key] = bytes;
            ++keys;
          }
        }
        for (int i = 0; i < kLater; ++i) keys += client()("EXISTS", later(i)).integer();
        EXPECT_EQ(client()("DBSIZE").integer(), keys);
      }
      return found;
    }

   private:
    ManualClock clock_;
    absl::Status status_;
    std::unique_ptr<Engine> engine_;
    std::unique_ptr<Client> client_;
  };

  static constexpr int kLater = 30;  // commits after the command
  static std::string later(int i) { return "later" + std::to_string(i); }

  static void fill(Client& client) {
    for (int i = 0; i < kOfEach; ++i) {
      for (int db = 0; db < kDatabases; ++db) {
        const std::string n = std::to_string(i);
        client("SELECT", db);
        client("SADD", "set" + n, "1");
        client("SADD", "set" + n, "a", "b");
        client("HSET", "hash" + n, "f", std::string(200, 'v'));
        client("HSETEX", "hash" + n, "EX", 1'000, "FIELDS", 1, "g", "w");
        client("ZADD", "sorted" + n, 1, "m");
        client("RPUSH", "list" + n, "a", "b");
        client("XADD", "stream" + n, "*", "f", "v");
        client("XGROUP", "CREATE", "stream" + n, "g", "0");
        client("SET", "string" + n, "value");
      }
    }
    for (int i = 0; i < 200; ++i) client("RPUSH", "list0", i);
  }

  TemporaryDirectory directory_;
};

TEST_P(FlushTest, InterruptedAnywhereRemovesAllOrNothing) {
  const auto& [command, durability, interruption] = GetParam();
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  const fs::path filled = directory_.path() / "filled";
  Contents before;
  {
    Running running(filled, Durability::kEverySec, nullptr);
    ASSERT_TRUE(running.status().ok()) << running.status();
    fill(running.client());
    before = running.contents();
    ASSERT_EQ(before.size(), 6U * kOfEach * kDatabases);
  }
  Contents after;
  if (std::string(command) == "FLUSHDB") {
    for (const auto& [key, size] : before) {
      if (key.starts_with('1')) after.emplace(key, size);
    }
  }

  int as_before = 0;
  int as_after = 0;
  bool through = false;
  for (int operations = 1; !through && !HasFailure();
       operations += 1 + static_cast<int>(random() % 4)) {
    SCOPED_TRACE("interrupted after " + std::to_string(operations) + " operations");
    const fs::path dir = directory_.path() / "flushed";
    fs::remove_all(dir);
    fs::copy(filled, dir, fs::copy_options::recursive);
    const auto disk = faults::PowerCutFileSystem::make(dir);
    bool is_flushed = false;
    {
      disk->cut_power_after(operations);
      Running running(dir, durability, disk->env());
      if (running.status().ok()) {
        Client& client = running.client();
        client("SELECT", 0);
        is_flushed = !client(command).is_error();
        through = is_flushed;
        for (int i = 0; i < kLater && through; ++i) {
          through = !client("SET", later(i), std::string(1'000, 'v')).is_error();
        }
      }
      disk->cut_power();
    }
    if (interruption != Interruption::kKill) {
      disk->power_on(interruption == Interruption::kPowerCut ? std::nullopt
                                                             : std::optional(random()));
    }
    Running again(dir, durability, nullptr);
    ASSERT_TRUE(again.status().ok()) << again.status();
    const Contents contents = again.contents();
    EXPECT_TRUE(contents == before || contents == after)
        << contents.size() << " keys of " << before.size();
    const bool must_stay_flushed =
        is_flushed && (interruption == Interruption::kKill || durability == Durability::kSync);
    if (must_stay_flushed) {
      EXPECT_EQ(contents, after);
    }
    ++(contents == before ? as_before : as_after);
  }
  EXPECT_GT(as_before, 0);
  EXPECT_GT(as_after, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Interruptions, FlushTest,
    ::testing::Values(Flush{"FLUSHALL", Durability::kOs, Interruption::kKill},
                      Flush{"FLUSHALL", Durability::kSync, Interruption::kPowerCut},
                      Flush{"FLUSHALL", Durability::kOs, Interruption::kPowerFlicker},
                      Flush{"FLUSHDB", Durability::kOs, Interruption::kKill},
                      Flush{"FLUSHDB", Durability::kSync, Interruption::kPowerFlicker}));

}  // namespace
}  // namespace rushgate
