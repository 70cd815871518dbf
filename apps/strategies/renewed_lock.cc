// (h) A lock as Redisson has it: a watchdog renews the lease for as long as the holder's process lives.
// Clicks that wait are woken by a message, instead of asking again and again.
//
// It is right while the process goes on. A process that is suspended for longer than the lease renews
// nothing. Only a fencing token that the database checks is a defence against that. And each click still
// waits for all others, and each purchase for the disk.
#include <string>

#include "apps/strategies/strategies.h"
#include "apps/strategies/take_one.h"
#include "engine/recipes/locks/lock_manager.h"
#include "engine/recipes/locks/reentrant_lock.h"

namespace rushgate::strategies {
namespace {

class RenewedLock final : public Strategy {
 public:
  explicit RenewedLock(const Setting& setting)
      : Strategy(setting),
        manager_(*setting.backend, {.watchdog_lease_ms = setting.schedule->lease_ms()}),
        lock_(manager_, setting.prefix + "lock:voucher") {}

  Answer buy(Desk& desk, UserId user) override {
    lock_.lock();
    const Answer answer = take_one_alone(desk, user);
    desk.schedule.before_release();
    lock_.unlock();
    return answer;
  }

 private:
  LockManager manager_;
  ReentrantLock lock_;
};

}  // namespace

StrategyKind renewed_lock() {
  return {.letter = "h",
          .name = "lock with a watchdog",
          .has_keyspace = true,
          .forced = {{ScheduleKind::kTwoProcesses, false},
                     {ScheduleKind::kReleaseLate, false},
                     {ScheduleKind::kHoldLong, false}},
          .faults = {},
          .make = make_strategy<RenewedLock>};
}

}  // namespace rushgate::strategies
