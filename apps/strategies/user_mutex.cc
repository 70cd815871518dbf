// (e) A mutex for each user, in the memory of the process.
//
// Two clicks of one user wait for each other, and clicks of different users do not. But the shop's
// second process has its own mutexes: two clicks in two processes are doubled.
#include <array>
#include <mutex>

#include "apps/strategies/strategies.h"
#include "apps/strategies/take_one.h"

namespace rushgate::strategies {
namespace {

class UserMutex final : public Strategy {
 public:
  using Strategy::Strategy;

  Decision buy(Desk& desk, std::int64_t user) override {
    const std::lock_guard lock(mutexes_[static_cast<std::size_t>(user) % mutexes_.size()]);
    return take_one(desk, user);
  }

 private:
  // Some users share a mutex. That costs a little time and keeps memory bounded.
  std::array<std::mutex, 1'024> mutexes_;
};

}  // namespace

StrategyKind user_mutex() {
  return {.letter = "e",
          .name = "mutex per user",
          .forced = {{ScheduleKind::kClicksMeet, false}, {ScheduleKind::kTwoProcesses, true}},
          .faults = {Fault::kDoubled},
          .make = make_strategy<UserMutex>};
}

}  // namespace rushgate::strategies
