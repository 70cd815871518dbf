// (d) A database lock around the whole purchase.
//
// Other databases lock the voucher's row by SELECT … FOR UPDATE. SQLite has no such lock: BEGIN
// IMMEDIATE locks the whole database against other writers. That is correct in any number of
// processes. But every request waits for all others, including requests that will be refused.
#include "apps/strategies/strategies.h"

namespace rushgate::strategies {
namespace {

class DatabaseLock final : public Strategy {
 public:
  using Strategy::Strategy;

  Decision buy(Desk& desk, std::int64_t user) override {
    auto transaction = desk.orders.transaction();  // BEGIN IMMEDIATE
    const std::int64_t stock = desk.orders.stock();
    if (stock <= 0) return Decision::kSoldOut;
    if (desk.orders.has_order(user)) return Decision::kHasOne;
    desk.schedule.between_read_and_write(user, stock);
    desk.orders.change("UPDATE voucher SET stock = ?", stock - 1);
    desk.schedule.half_done();
    desk.orders.insert_order(user);
    transaction.commit();
    return Decision::kAccepted;
  }
};

}  // namespace

StrategyKind database_lock() {
  return {.letter = "d",
          .name = "database lock",
          .forced = {{ScheduleKind::kLastPiece, false},
                     {ScheduleKind::kClicksMeet, false},
                     {ScheduleKind::kTwoProcesses, false}},
          .faults = {},
          .make = make_strategy<DatabaseLock>};
}

}  // namespace rushgate::strategies
