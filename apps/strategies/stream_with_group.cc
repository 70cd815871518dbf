// (n) The script appends the order to a stream, and the worker's group begins at the first entry.
// The worker acknowledges an order when its transaction has committed.
//
// A restarted worker finds the unacknowledged orders in its pending list. An order that was stored
// already is stored again under the same id, which changes nothing.
#include "apps/strategies/queue_strategy.h"
#include "apps/strategies/strategies.h"
#include <rushgate/queues.h>

namespace rushgate::strategies {
namespace {

class StreamGroup final : public QueueStrategy {
 public:
  explicit StreamGroup(const Setting& setting)
      : QueueStrategy(setting, "redis.call('XADD', KEYS[3], '*', 'body', ARGV[2])") {}

 private:
  std::unique_ptr<Queue> open_queue() override {
    return StreamQueue::create(*setting().backend, queue_name()).value();
  }
};

}  // namespace

StrategyKind stream_group() {
  return {.letter = "n",
          .name = "script + stream group",
          .has_keyspace = true,
          .redelivers = true,
          .forced = {{ScheduleKind::kWorkerRestarts, false}, {ScheduleKind::kWorkerLate, false}},
          .faults = {},
          .make = make_strategy<StreamGroup>};
}

}  // namespace rushgate::strategies
