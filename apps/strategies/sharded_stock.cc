// (p) One server is the limit, so each shard gets a part of the stock. A user's shard follows from the
// user id. Each shard works as (n).
//
// Nothing is oversold, and the shards know nothing of each other. So a shard without vouchers says "sold out"
// while others have some. What the users of another shard do not buy is left at the end.
#include "apps/strategies/queue_strategy.h"
#include "apps/strategies/shards.h"
#include "apps/strategies/strategies.h"
#include <rushgate/queues.h>

namespace rushgate::strategies {
namespace {

class ShardedStock final : public QueueStrategy {
 public:
  explicit ShardedStock(const Setting& setting)
      : QueueStrategy(setting, "redis.call('XADD', KEYS[3], '*', 'body', ARGV[2])", kShards) {}

 private:
  /// The shards share a queue here, as the comparison has one keyspace.
  std::unique_ptr<Queue> open_queue() override {
    return StreamQueue::create(*setting().backend, queue_name()).value();
  }
};

}  // namespace

StrategyKind sharded_stock() {
  return {.letter = "p",
          .name = "stock divided over shards",
          .has_keyspace = true,
          .redelivers = true,
          .forced = {{ScheduleKind::kFewShards, true}},
          .faults = {Fault::kTurnedAway, Fault::kUnsold},
          .make = make_strategy<ShardedStock>};
}

}  // namespace rushgate::strategies
