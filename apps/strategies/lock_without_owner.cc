// (f) A lock in the keyspace, for all processes: SET NX takes it, and DEL releases it.
//
// The lock has a lease, so that it does not outlive a process that was killed. A holder that is slower
// than its lease has lost the lock and does not know it. Its DEL then deletes the lock of the next
// holder, and a third click enters while the next holder still works.
#include <chrono>
#include <string>
#include <thread>

#include "apps/strategies/strategies.h"
#include "apps/strategies/take_one.h"

namespace rushgate::strategies {
namespace {

class LockWithoutOwner final : public Strategy {
 public:
  using Strategy::Strategy;

  Answer buy(Desk& desk, UserId user) override {
    while (!acquire(*desk.client)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const Answer answer = take_one_alone(desk, user);
    desk.schedule.before_release();
    must((*desk.client)("DEL", key_));
    return answer;
  }

 private:
  bool acquire(Client& client) {
    return !must(client("SET", key_, "locked", "NX", "PX", setting().schedule->lease_ms()))
                .is_nil();
  }

  const std::string key_ = setting().prefix + "lock:voucher";
};

}  // namespace

StrategyKind lock_without_owner() {
  return {.letter = "f",
          .name = "SETNX lock, no owner",
          .has_keyspace = true,
          .forced = {{ScheduleKind::kTwoProcesses, false}, {ScheduleKind::kReleaseLate, true}},
          .faults = {Fault::kOversold},
          .make = make_strategy<LockWithoutOwner>};
}

}  // namespace rushgate::strategies
