// (c) Optimistic lock by the stock itself: the stock is decremented only while it is above zero.
//
// No request is turned away while there is stock, and nothing is oversold. But the condition says
// nothing about the user. Two clicks of one user both find no order, and both make one.
#include "apps/strategies/strategies.h"
#include "apps/strategies/take_one.h"

namespace rushgate::strategies {

Answer take_one(Desk& desk, UserId user) {
  if (desk.orders.stock() <= 0) return Answer::kSoldOut;
  if (desk.orders.has_order(user)) return Answer::kHasOne;
  desk.schedule.between_read_and_write(user);
  auto transaction = desk.orders.transaction();
  const int changed = desk.orders.change("UPDATE voucher SET stock = stock - 1 WHERE stock > 0");
  if (changed == 0) return Answer::kSoldOut;
  desk.schedule.half_done();
  desk.orders.insert_order(user);
  transaction.commit();
  return Answer::kAccepted;
}

namespace {

class StockCheck final : public Strategy {
 public:
  using Strategy::Strategy;

  Answer buy(Desk& desk, UserId user) override { return take_one(desk, user); }
};

}  // namespace

StrategyKind stock_check() {
  return {.letter = "c",
          .name = "optimistic lock, stock > 0",
          .forced = {ScheduleKind::kClicksMeet},
          .faults = {Fault::kDoubled},
          .make = make_strategy<StockCheck>};
}

}  // namespace rushgate::strategies
