// (d) A lock of the database around the whole purchase.
//
// Other databases lock the row of the voucher by SELECT … FOR UPDATE. SQLite has no FOR UPDATE: BEGIN
// IMMEDIATE locks the whole database against other writers. It is right in any number of processes.
// But every request waits for all others, those that will be refused included.
#include "apps/strategies/strategies.h"

namespace rushgate::strategies {
namespace {

class DatabaseLock final : public Strategy {
 public:
  using Strategy::Strategy;

  Answer buy(Desk& desk, UserId user) override {
    auto transaction = desk.orders.transaction();  // BEGIN IMMEDIATE
    const std::int64_t stock = desk.orders.stock();
    if (stock <= 0) return Answer::kSoldOut;
    if (desk.orders.has_order(user)) return Answer::kHasOne;
    desk.schedule.between_read_and_write(user, stock);
    desk.orders.change("UPDATE voucher SET stock = ?", stock - 1);
    desk.schedule.half_done();
    desk.orders.insert_order(user);
    transaction.commit();
    return Answer::kAccepted;
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
