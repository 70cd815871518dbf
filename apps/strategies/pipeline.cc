// (i) The decision moves into the keyspace, which is fast. Stock and buyers are keys. One pipeline
// reads both, and another one changes both.
//
// A pipeline saves round trips. It is no transaction: commands of other clients run between its
// commands, and between two pipelines. So this is (a) again, only faster.
#include <vector>

#include "apps/strategies/keyspace_admission.h"
#include "apps/strategies/strategies.h"

namespace rushgate::strategies {
namespace {

class Pipeline final : public KeyspaceStrategy {
 public:
  using KeyspaceStrategy::KeyspaceStrategy;

  Decision buy(Desk& desk, std::int64_t user) override {
    const Request reads[] = {Request::of("GET", setting().stock_key()),
                             Request::of("SISMEMBER", setting().buyers_key(), user)};
    const std::vector<Reply> read = desk.client->pipeline(reads);
    const std::int64_t stock = std::stoll(must(read[0]).text());
    if (stock <= 0) return Decision::kSoldOut;
    if (must(read[1]).integer() == 1) return Decision::kHasOne;
    desk.schedule.between_read_and_write(user, stock);
    const Request changes[] = {Request::of("DECR", setting().stock_key()),
                               Request::of("SADD", setting().buyers_key(), user)};
    for (const Reply& changed : desk.client->pipeline(changes)) must(changed);
    desk.schedule.half_done();
    desk.orders.insert_order(user);
    return Decision::kAccepted;
  }
};

}  // namespace

StrategyKind pipeline() {
  return {.letter = "i",
          .name = "pipeline, no script",
          .has_keyspace = true,
          .forced = {{ScheduleKind::kLastPiece, true}, {ScheduleKind::kClicksMeet, true}},
          .faults = {Fault::kOversold, Fault::kDoubled, Fault::kLeftBehind},
          .make = make_strategy<Pipeline>};
}

}  // namespace rushgate::strategies
