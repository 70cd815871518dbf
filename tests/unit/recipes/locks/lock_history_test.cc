// Random histories of processes that lock, pause, crash and lose replies, while clocks jump. By the
// server's time there are never two holders, and never a writer with another holder.
#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/base/random.h"
#include "tests/support/faults/pausable_backend.h"
#include "tests/support/hooked_backend.h"
#include "tests/unit/recipes/locks/lock_fixture.h"
#include <rushgate/locks.h>
#include <rushgate/random_seed.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

using faults::FaultyBackend;
using Fault = FaultyBackend::Fault;

class LockHistory : public RecipeTest {
 protected:
  static constexpr std::uint64_t kOwners = 2;  // of one process
  static constexpr int kProcesses = 4;

  ~LockHistory() override {
    // Ends the callback thread. Completions of crashed processes use crashed_.
    client_.reset();
    backend_.reset();
  }

  using Role = std::pair<std::uint64_t, std::size_t>;  // an owner and a side
  struct Hold {
    int jumps = 0;  // of the server's clock before the hold
  };
  struct Process {
    std::unique_ptr<PausableBackend> pausable;
    std::unique_ptr<FaultyBackend> lossy;
    std::unique_ptr<LockManager> manager;
    std::map<Role, PendingLock> waits;
    std::map<Role, Hold> holds;
  };
  /// A hold that a process believes to have.
  struct Belief {
    std::string owner;  // as in the lock's hash
    std::size_t side;
  };

  /// Returns the sides of the lock. The last side excludes all other owners.
  virtual std::vector<ReentrantLock> sides(Process& process) = 0;
  /// Returns true if the clock may go back during a script.
  [[nodiscard]] virtual bool clock_goes_back() const { return true; }
  /// Checks the lock's keys, and compares them with the beliefs.
  virtual void check(const std::vector<Belief>& beliefs) = 0;

  void start(Process& process) {
    process.waits.clear();
    process.holds.clear();
    process.manager.reset();  // like a crash: nothing is released
    crashed_.push_back(std::move(process.lossy));
    crashed_.push_back(std::move(process.pausable));
    process.pausable = std::make_unique<PausableBackend>(*backend_);
    process.lossy = std::make_unique<FaultyBackend>(*process.pausable, [this](const Request& sent) {
      return sent[0].starts_with("EVAL") ? draw_loss() : Fault::kNone;
    });
    process.manager = std::make_unique<LockManager>(
        *process.lossy, LockManagerOptions{.client_id = "p" + std::to_string(++started_)});
  }

  /// Draws the next loss. Thread-safe.
  Fault draw_loss() {
    const std::lock_guard lock(loss_mutex_);
    const std::uint64_t drawn = loss_random_.below(100);
    if (drawn >= loss_percent_) return Fault::kNone;
    return drawn % 2 == 0 ? Fault::kReplyLost : Fault::kRequestLost;
  }

  void act(Process& process) {
    std::vector<ReentrantLock> locks = sides(process);
    const Role role(1 + random_.below(kOwners), random_.below(locks.size()));
    const auto [owner, side] = role;
    switch (random_.below(8)) {
      case 0:
      case 1:
      case 2: {
        if (process.waits.contains(role)) return;
        const std::int64_t wait_ms = static_cast<std::int64_t>(random_.below(4)) * 4'000;
        const std::int64_t lease_ms = static_cast<std::int64_t>(random_.below(3)) * 5'000;
        process.waits.emplace(role, begin(locks[side], owner, wait_ms, lease_ms));
        return;
      }
      case 3:
      case 4:
        static_cast<void>(locks[side].release_of(owner));
        process.holds.erase(role);
        return;
      case 5:
        return process.pausable->pausable().pause();
      case 6:
        return process.pausable->pausable().resume();
      default:
        if (random_.below(4) == 0) start(process);
    }
  }

  void collect(Process& process) {
    for (auto wait = process.waits.begin(); wait != process.waits.end();) {
      if (!wait->second.is_done()) {
        ++wait;
        continue;
      }
      const auto acquired = wait->second.result();
      if (acquired.ok() && *acquired) {
        const auto [owner, side] = wait->first;
        const std::int64_t token = sides(process)[side].token_of(owner);
        if (token != 0) {  // 0: no token, or the lease has expired meanwhile
          EXPECT_TRUE(tokens_.insert(token).second) << token;
        }
        process.holds[wait->first] = {.jumps = jumps_};
        ++acquisitions_;
      }
      wait = process.waits.erase(wait);
    }
  }

  void check() {
    std::vector<Belief> beliefs;
    for (Process& process : processes_) {
      for (const auto& [role, hold] : process.holds) {
        // Leases here last too long if only the server's time advances.
        if (engine_ == nullptr || hold.jumps != jumps_) continue;
        const auto [owner, side] = role;
        if (!sides(process)[side].is_held_by(owner)) continue;
        beliefs.push_back({process.manager->client_id() + ':' + std::to_string(owner), side});
      }
    }
    check(beliefs);
  }

  void run(int steps) {
    for (Process& process : processes_) start(process);
    for (int step = 0; step < steps; ++step) {
      loss_percent_ = random_.below(4) == 0 ? 20 : 0;
      act(processes_[random_.below(kProcesses)]);
      if (random_.below(3) == 0) advance_ms(static_cast<std::int64_t>(random_.below(6'000)));
      for (Process& process : processes_) collect(process);  // before the clock jumps
      if (random_.below(40) == 0) {
        const auto jump_ms = static_cast<std::int64_t>(random_.below(40'000)) - 20'000;
        set_now_ms(clock_.now_ms() + (clock_goes_back() ? jump_ms : std::abs(jump_ms)));
        ++jumps_;
      }
      check();
      if (HasFatalFailure()) return;
    }
    // All locks are free again.
    loss_percent_ = 0;
    for (Process& process : processes_) process.manager.reset();
    ASSERT_EQ((*client_)("PING"), Reply::status("PONG")) << "after all that was sent before";
    advance_ms(200'000);
    Process process;
    process.manager = std::make_unique<LockManager>(*backend_);
    EXPECT_TRUE(*sides(process).back().try_acquire(0));
    // On a busy machine, a Redis replies after many steps.
    EXPECT_GT(acquisitions_, engine_ != nullptr ? steps / 50 : 0);
  }

  const std::uint64_t seed_ = random_seed();
  Random random_{seed_};
  std::vector<Process> processes_{kProcesses};
  std::mutex loss_mutex_;
  Random loss_random_{seed_ + 1};  // guarded by loss_mutex_
  std::atomic<std::uint64_t> loss_percent_{0};
  int started_ = 0;
  int jumps_ = 0;
  int acquisitions_ = 0;
  std::set<std::int64_t> tokens_;
  std::vector<std::unique_ptr<Backend>> crashed_;  // of crashed processes
};

class LockHistoryTest : public LockHistory {
 protected:
  std::vector<ReentrantLock> sides(Process& process) override {
    return {ReentrantLock(*process.manager, "shop", {.is_fenced = true})};
  }

  void check(const std::vector<Belief>& beliefs) override {
    const Reply owners = (*client_)("HKEYS", "shop");
    ASSERT_LE(owners.elements().size(), 1U) << to_debug_string(owners);
    ASSERT_LE(beliefs.size(), 1U);
    if (beliefs.empty()) return;
    ASSERT_EQ(owners.elements().size(), 1U);
    EXPECT_EQ(owners.elements()[0].text(), beliefs[0].owner);
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, LockHistoryTest,
                         ::testing::Values(RecipeKind::kMemory, RecipeKind::kRedis), recipe_name);

TEST_P(LockHistoryTest, NeverTwoHoldersByServersTime) {
  SCOPED_TRACE(seed_text(seed_));
  run(GetParam() == RecipeKind::kMemory ? 20'000 : 1'000);
}

/// Reads the lock's fields, its remaining time, and that of each read hold, at one moment. Keys of
/// holds that the lock does not count are irrelevant: a clock that goes back revives an expired key
/// that is not removed yet.
constexpr std::string_view kSnapshot = R"lua(
local fields = redis.call('HGETALL', 'shop')
local holds = {}
for i = 1, #fields, 2 do
  for hold = 1, tonumber(fields[i + 1]) or 0 do
    holds[#holds + 1] = redis.call('PTTL', '{shop}:' .. fields[i] .. ':rwlock_timeout:' .. hold)
  end
end
return {fields, redis.call('PTTL', 'shop'), holds}
)lua";

class ReadWriteLockHistoryTest : public LockHistory {
 protected:
  static constexpr std::size_t kRead = 0;

  /// Redis 7.0 reads its clock for each command of a script, and these scripts set several
  /// expiries.
  [[nodiscard]] bool clock_goes_back() const override { return engine_ != nullptr; }

  std::vector<ReentrantLock> sides(Process& process) override {
    ReadWriteLock lock(*process.manager, "shop");
    return {lock.read_lock(), lock.write_lock()};
  }

  void check(const std::vector<Belief>& beliefs) override {
    const Reply snapshot = (*client_)("EVAL", kSnapshot, 0);
    SCOPED_TRACE(to_debug_string(snapshot));
    ASSERT_EQ(snapshot.elements().size(), 3U);
    const Reply& fields = snapshot.elements()[0];
    std::map<std::string, std::string> lock;
    for (std::size_t i = 0; i < fields.elements().size(); i += 2) {
      lock[fields.elements()[i].text()] = fields.elements()[i + 1].text();
    }
    for (const Reply& hold : snapshot.elements()[2].elements()) {
      EXPECT_LE(hold.integer(), snapshot.elements()[1].integer()) << "it would meet a writer";
    }
    if (lock["mode"] == "write") check_writer(lock);
    for (const auto& [owner, side] : beliefs) {
      EXPECT_TRUE(lock.contains(side == kRead ? owner : owner + ":write")) << owner;
      for (const Belief& other : beliefs) {
        EXPECT_TRUE(other.owner == owner || (other.side == kRead && side == kRead))
            << owner << " and " << other.owner;
      }
    }
  }

  static void check_writer(const std::map<std::string, std::string>& lock) {
    std::set<std::string> owners;
    for (const auto& [field, value] : lock) {
      if (field != "mode") owners.insert(field.substr(0, field.find(":write")));
    }
    EXPECT_EQ(owners.size(), 1U);
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, ReadWriteLockHistoryTest,
                         ::testing::Values(RecipeKind::kMemory, RecipeKind::kRedis), recipe_name);

TEST_P(ReadWriteLockHistoryTest, WriterExcludesAllHolders) {
  SCOPED_TRACE(seed_text(seed_));
  run(GetParam() == RecipeKind::kMemory ? 20'000 : 1'000);
}

}  // namespace
}  // namespace rushgate
