// (l) The script publishes the order on a channel, and the worker subscribes to it.
//
// A channel stores nothing. Messages published while the worker restarts reach no subscriber.
// Messages that a killed worker had received are gone.
#include <algorithm>

#include "apps/strategies/queue_strategy.h"
#include "apps/strategies/strategies.h"
#include <rushgate/queues.h>

namespace rushgate::strategies {
namespace {

class Channel final : public QueueStrategy {
 public:
  explicit Channel(const Setting& setting)
      : QueueStrategy(setting, "redis.call('PUBLISH', KEYS[3], ARGV[2])") {}

 private:
  std::unique_ptr<Queue> open_queue() override {
    const auto stock = static_cast<std::size_t>(setting().stock);
    return PubSubQueue::create(*setting().backend, queue_name(),
                               {.size_max = std::min(stock, PubSubQueue::kSizeMax)})
        .value();
  }
};

}  // namespace

StrategyKind channel() {
  return {.letter = "l",
          .name = "script + publish/subscribe",
          .has_keyspace = true,
          .forced = {{ScheduleKind::kWorkerRestarts, true}},
          .faults = {Fault::kLost, Fault::kLeftBehind},
          .make = make_strategy<Channel>};
}

}  // namespace rushgate::strategies
