// (c) Optimistic lock by the stock itself: the stock is decremented only while it is above zero.
//
// No request is rejected while there is stock, and nothing is oversold. But the condition does not
// cover the user. Two clicks of one user both find no order, and both create one.
#include "apps/strategies/strategies.h"
#include "apps/strategies/take_one.h"

namespace rushgate::strategies {

namespace {

class StockCheck final : public Strategy {
 public:
  using Strategy::Strategy;

  Decision buy(Desk& desk, std::int64_t user) override { return take_one(desk, user); }
};

}  // namespace

StrategyKind stock_check() {
  return {.letter = "c",
          .name = "optimistic lock, stock > 0",
          .forced = {{ScheduleKind::kLastPiece, false}, {ScheduleKind::kClicksMeet, true}},
          .faults = {Fault::kDoubled},
          .make = make_strategy<StockCheck>};
}

}  // namespace rushgate::strategies
