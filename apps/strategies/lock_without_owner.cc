// (f) A lock in the keyspace, for all processes: SET NX takes it, and DEL releases it.
//
// The lock has a lease, so that it does not outlive a killed process. A holder that is slower than
// its lease has lost the lock without noticing. Its DEL then deletes the next holder's lock, and a
// third click enters.
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

  Decision buy(Desk& desk, std::int64_t user) override {
    while (!acquire(*desk.client)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const Decision decision = take_one_alone(desk, user);
    desk.schedule.before_release();
    must((*desk.client)("DEL", key_));
    return decision;
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
