// (k2) The worker moves the order to a second list (LMOVE), and removes it there once it is stored.
//
// A restarted worker first moves the contents of its second list back. An order may be stored
// twice. It has an id, so the second insert changes nothing.
#include "apps/strategies/queue_strategy.h"
#include "apps/strategies/strategies.h"
#include <rushgate/queues.h>

namespace rushgate::strategies {
namespace {

class MovedList final : public QueueStrategy {
 public:
  explicit MovedList(const Setting& setting)
      : QueueStrategy(setting, "redis.call('LPUSH', KEYS[3], ARGV[2])") {}

 private:
  std::unique_ptr<Queue> open_queue() override {
    return ListQueue::create(*setting().backend, queue_name()).value();
  }
};

}  // namespace

StrategyKind moved_list() {
  return {.letter = "k2",
          .name = "script + list, LMOVE",
          .has_keyspace = true,
          .redelivers = true,
          .forced = {{ScheduleKind::kWorkerRestarts, false}},
          .faults = {},
          .make = make_strategy<MovedList>};
}

}  // namespace rushgate::strategies
