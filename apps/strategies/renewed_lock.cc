// (h) A lock like Redisson's: a watchdog renews the lease as long as the holder's process lives. A
// message wakes waiting clicks, so they need not poll.
//
// It is correct while the process runs. A process that is suspended for longer than its lease
// renews nothing. Only a fencing token that the database checks protects against that. And each
// click still waits for all others, and each purchase for the disk.
#include <string>

#include "apps/strategies/strategies.h"
#include "apps/strategies/take_one.h"
#include <rushgate/locks.h>

namespace rushgate::strategies {
namespace {

class RenewedLock final : public Strategy {
 public:
  explicit RenewedLock(const Setting& setting)
      : Strategy(setting),
        manager_(*setting.backend, {.watchdog_lease_ms = setting.schedule->lease_ms()}),
        lock_(manager_, setting.prefix + "lock:voucher") {}

  Decision buy(Desk& desk, std::int64_t user) override {
    lock_.lock();
    const Decision decision = take_one_alone(desk, user);
    desk.schedule.before_release();
    lock_.unlock();
    return decision;
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
