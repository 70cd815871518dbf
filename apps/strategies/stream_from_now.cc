// (m) The script appends the order to a stream. The worker creates its group at `$`: from now on.
//
// A stream keeps its entries. A group keeps the entries that a killed worker had not acknowledged.
// But orders that were admitted before the worker's first start precede `$`. The group never
// delivers them.
#include "apps/strategies/queue_strategy.h"
#include "apps/strategies/strategies.h"
#include <rushgate/queues.h>

namespace rushgate::strategies {
namespace {

class StreamFromNow final : public QueueStrategy {
 public:
  explicit StreamFromNow(const Setting& setting)
      : QueueStrategy(setting, "redis.call('XADD', KEYS[3], '*', 'body', ARGV[2])") {}

 private:
  std::unique_ptr<Queue> open_queue() override {
    const StreamQueueOptions options;
    const auto client = setting().backend->open_client();
    // An error if the group exists already, which is fine.
    (*client)("XGROUP", "CREATE", queue_name(), options.group, "$", "MKSTREAM");
    return StreamQueue::create(*setting().backend, queue_name(), options).value();
  }
};

}  // namespace

StrategyKind stream_from_now() {
  return {.letter = "m",
          .name = "script + stream from $",
          .has_keyspace = true,
          .redelivers = true,
          .forced = {{ScheduleKind::kWorkerRestarts, false}, {ScheduleKind::kWorkerLate, true}},
          .faults = {Fault::kLost, Fault::kLeftBehind},
          .make = make_strategy<StreamFromNow>};
}

}  // namespace rushgate::strategies
