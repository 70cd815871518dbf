// (g) The lock's value names its owner, and a script deletes the lock only for this owner.
//
// A late release does no harm any more. But a lease can still expire while its holder works. Then
// two clicks are inside the lock at the same time.
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "apps/strategies/strategies.h"
#include "apps/strategies/take_one.h"
#include <rushgate/locks.h>

namespace rushgate::strategies {
namespace {

class LockWithOwner final : public Strategy {
 public:
  explicit LockWithOwner(const Setting& setting) : Strategy(setting) {
    const SimpleLockOptions options = {.key_prefix = setting.prefix + "lock:",
                                       .lease_ms = setting.schedule->lease_ms()};
    for (int desk = 0; desk < setting.threads; ++desk) {
      locks_.push_back(std::make_unique<SimpleLock>(*setting.backend, "voucher", options));
    }
  }

  Decision buy(Desk& desk, std::int64_t user) override {
    SimpleLock& lock = *locks_[static_cast<std::size_t>(desk.number)];
    while (!lock.acquire().value()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const Decision decision = take_one_alone(desk, user);
    desk.schedule.before_release();
    const absl::Status released = lock.release();
    // An expired lease is no error here: the order exists, and undoing it is too late.
    if (!released.ok() && !absl::IsFailedPrecondition(released)) {
      throw std::runtime_error(released.ToString());
    }
    return decision;
  }

 private:
  std::vector<std::unique_ptr<SimpleLock>> locks_;  // one per thread, each a separate owner
};

}  // namespace

StrategyKind lock_with_owner() {
  return {.letter = "g",
          .name = "SETNX lock, owner and script",
          .has_keyspace = true,
          .forced = {{ScheduleKind::kTwoProcesses, false},
                     {ScheduleKind::kReleaseLate, false},
                     {ScheduleKind::kHoldLong, true}},
          .faults = {Fault::kOversold},
          .make = make_strategy<LockWithOwner>};
}

}  // namespace rushgate::strategies
