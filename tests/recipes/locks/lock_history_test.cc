// Random histories of processes that lock, pause, crash, and lose replies, while clocks jump: there
// are never two holders by the server's time.
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/random.h"
#include "tests/random_seed.h"
#include "tests/recipes/locks/lock_fixture.h"

namespace rushgate {
namespace {

/// Keeps back the timers of a process that is paused. Thread-safe.
class PausableScheduler final : public Scheduler {
 public:
  explicit PausableScheduler(Scheduler& inner) : state_(std::make_shared<State>()), inner_(inner) {}

  TimerId at(std::int64_t monotonic_ms, Callback callback) override {
    return inner_.at(monotonic_ms, [state = state_, callback = std::move(callback)]() mutable {
      {
        const std::lock_guard lock(state->mutex);
        if (state->is_paused) return state->late.push_back(std::move(callback));
      }
      callback();
    });
  }
  bool cancel(TimerId timer) override { return inner_.cancel(timer); }

  void pause() {
    const std::lock_guard lock(state_->mutex);
    state_->is_paused = true;
  }
  void resume() {
    std::deque<Callback> late;
    {
      const std::lock_guard lock(state_->mutex);
      state_->is_paused = false;
      late.swap(state_->late);
    }
    for (Callback& callback : late) callback();
  }

 private:
  struct State {
    std::mutex mutex;
    bool is_paused = false;
    std::deque<Callback> late;
  };
  const std::shared_ptr<State> state_;
  Scheduler& inner_;
};

class PausableBackend final : public ForwardingBackend {
 public:
  explicit PausableBackend(Backend& inner)
      : ForwardingBackend(inner), pausable_(inner.scheduler()) {}

  [[nodiscard]] Scheduler& scheduler() override { return pausable_; }
  [[nodiscard]] PausableScheduler& pausable() { return pausable_; }

 private:
  PausableScheduler pausable_;
};

class LockHistoryTest : public RecipeTest {
 protected:
  static constexpr std::uint64_t kOwners = 2;  // of a process
  static constexpr int kProcesses = 4;

  struct Hold {
    int jumps = 0;  // of the server's clock, before it
  };
  struct Process {
    std::unique_ptr<PausableBackend> pausable;
    std::unique_ptr<LossyBackend> lossy;
    std::unique_ptr<LockManager> manager;
    std::map<std::uint64_t, PendingLock> waits;
    std::map<std::uint64_t, Hold> holds;
  };

  void start(Process& process) {
    process.waits.clear();
    process.holds.clear();
    process.manager.reset();  // as a crash: it releases nothing
    crashed_.push_back(std::move(process.lossy));
    crashed_.push_back(std::move(process.pausable));
    process.pausable = std::make_unique<PausableBackend>(*backend_);
    process.lossy = std::make_unique<LossyBackend>(*process.pausable, [this](const Request& sent) {
      return sent[0].starts_with("EVAL") ? draw_loss() : LossyBackend::Loss::kNone;
    });
    process.manager = std::make_unique<LockManager>(
        *process.lossy, LockManagerOptions{.client_id = "p" + std::to_string(++started_)});
  }

  /// On any thread.
  LossyBackend::Loss draw_loss() {
    const std::lock_guard lock(loss_mutex_);
    const std::uint64_t drawn = loss_random_.below(100);
    if (drawn >= loss_percent_) return LossyBackend::Loss::kNone;
    return drawn % 2 == 0 ? LossyBackend::Loss::kReply : LossyBackend::Loss::kRequest;
  }

  ReentrantLock lock(Process& process) {
    return ReentrantLock(*process.manager, "shop", {.is_fenced = true});
  }

  void act(Process& process) {
    const std::uint64_t owner = 1 + random_.below(kOwners);
    switch (random_.below(8)) {
      case 0:
      case 1:
      case 2: {
        if (process.waits.contains(owner)) return;
        const std::int64_t wait_ms = static_cast<std::int64_t>(random_.below(4)) * 4'000;
        const std::int64_t lease_ms = static_cast<std::int64_t>(random_.below(3)) * 5'000;
        process.waits.emplace(owner, begin(lock(process), owner, wait_ms, lease_ms));
        return;
      }
      case 3:
      case 4:
        static_cast<void>(lock(process).release_of(owner));
        process.holds.erase(owner);
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
        const std::int64_t token = lock(process).token_of(wait->first);
        if (token != 0) {  // 0: the lease has ended meanwhile
          EXPECT_TRUE(tokens_.insert(token).second) << token;
        }
        process.holds[wait->first] = {.jumps = jumps_};
        ++acquisitions_;
      }
      wait = process.waits.erase(wait);
    }
  }

  void check() {
    const Reply owners = (*client_)("HKEYS", "shop");
    ASSERT_LE(owners.elements().size(), 1U) << to_debug_string(owners);
    int holders = 0;
    for (Process& process : processes_) {
      for (const auto& [owner, hold] : process.holds) {
        // Where time passes only for the server, leases here last too long.
        if (engine_ == nullptr || hold.jumps != jumps_) continue;
        if (!lock(process).is_held_by(owner)) continue;
        ++holders;
        ASSERT_EQ(owners.elements().size(), 1U);
        EXPECT_EQ(owners.elements()[0].text(),
                  process.manager->client_id() + ':' + std::to_string(owner));
      }
    }
    ASSERT_LE(holders, 1);
  }

  void run(int steps) {
    for (Process& process : processes_) start(process);
    for (int step = 0; step < steps; ++step) {
      loss_percent_ = random_.below(4) == 0 ? 20 : 0;
      act(processes_[random_.below(kProcesses)]);
      if (random_.below(3) == 0) advance_ms(static_cast<std::int64_t>(random_.below(6'000)));
      for (Process& process : processes_) collect(process);  // before the clock jumps
      if (random_.below(40) == 0) {
        set_now_ms(clock_.now_ms() + static_cast<std::int64_t>(random_.below(40'000)) - 20'000);
        ++jumps_;
      }
      check();
      if (HasFatalFailure()) return;
    }
    // All can be had again.
    loss_percent_ = 0;
    for (Process& process : processes_) process.manager.reset();
    ASSERT_EQ((*client_)("PING"), Reply::status("PONG")) << "after all that was sent before";
    advance_ms(200'000);
    LockManager last(*backend_);
    EXPECT_TRUE(*ReentrantLock(last, "shop").try_acquire(0));
    EXPECT_GT(acquisitions_, steps / 50);
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
  std::vector<std::unique_ptr<Backend>> crashed_;  // their completions may still come
};
INSTANTIATE_TEST_SUITE_P(Backends, LockHistoryTest,
                         ::testing::Values(RecipeKind::kMemory, RecipeKind::kRedis), recipe_name);

TEST_P(LockHistoryTest, NeverTwoHoldersByServersTime) {
  SCOPED_TRACE(seed_text(seed_));
  run(GetParam() == RecipeKind::kMemory ? 20'000 : 1'000);
}

}  // namespace
}  // namespace rushgate
