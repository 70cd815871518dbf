// (j) An atomic script decides. The order goes to a queue in the memory of the process, and a
// worker stores it later.
//
// Nothing is oversold or doubled any more, and no click waits for the disk. But the queue dies with
// the process. Users have read "accepted" and their stock is gone, but they never get an order.
#include "apps/strategies/queue_strategy.h"
#include "apps/strategies/strategies.h"
#include <rushgate/queues.h>

namespace rushgate::strategies {
namespace {

class ProcessQueue final : public QueueStrategy {
 public:
  explicit ProcessQueue(const Setting& setting) : QueueStrategy(setting, "") {}

 private:
  std::unique_ptr<Queue> open_queue() override {
    return InProcessQueue::create({.size_max = InProcessQueue::kSizeMax}).value();
  }
};

}  // namespace

StrategyKind process_queue() {
  return {.letter = "j",
          .name = "script + queue in the process",
          .has_keyspace = true,
          .forced = {},
          .faults = {Fault::kLost, Fault::kLeftBehind},
          .make = make_strategy<ProcessQueue>};
}

}  // namespace rushgate::strategies
