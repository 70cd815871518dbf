// (k1) The script appends the order to a list in the keyspace. The worker pops it (BRPOP), then
// stores it.
//
// The list outlives the process. But an order that is popped and not yet stored is in neither
// place. A kill at this moment loses it.
#include "apps/strategies/queue_strategy.h"
#include "apps/strategies/strategies.h"
#include <rushgate/queues.h>

namespace rushgate::strategies {
namespace {

class PoppedList final : public QueueStrategy {
 public:
  explicit PoppedList(const Setting& setting)
      : QueueStrategy(setting, "redis.call('LPUSH', KEYS[3], ARGV[2])") {}

 private:
  std::unique_ptr<Queue> open_queue() override {
    return UnsafeListQueue::create(*setting().backend, queue_name()).value();
  }
};

}  // namespace

StrategyKind popped_list() {
  return {.letter = "k1",
          .name = "script + list, BRPOP",
          .has_keyspace = true,
          .forced = {{ScheduleKind::kWorkerRestarts, false}},
          .faults = {Fault::kLost, Fault::kLeftBehind},
          .make = make_strategy<PoppedList>};
}

}  // namespace rushgate::strategies
