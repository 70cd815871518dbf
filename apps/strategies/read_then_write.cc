// (a) Reads the stock, then writes it, in two statements without a lock.
//
// Two requests read the same stock and the same orders, and both write. The second write overwrites
// the first: the stock sinks by one, and two orders exist.
#include "apps/strategies/strategies.h"

namespace rushgate::strategies {
namespace {

class ReadThenWrite final : public Strategy {
 public:
  using Strategy::Strategy;

  Decision buy(Desk& desk, std::int64_t user) override {
    const std::int64_t stock = desk.orders.stock();
    if (stock <= 0) return Decision::kSoldOut;
    if (desk.orders.has_order(user)) return Decision::kHasOne;
    desk.schedule.between_read_and_write(user, stock);
    desk.orders.change("UPDATE voucher SET stock = ?", stock - 1);
    desk.schedule.half_done();
    desk.orders.insert_order(user);
    return Decision::kAccepted;
  }
};

}  // namespace

StrategyKind read_then_write() {
  return {.letter = "a",
          .name = "read, then write",
          .forced = {{ScheduleKind::kLastPiece, true}, {ScheduleKind::kClicksMeet, true}},
          .faults = {Fault::kOversold, Fault::kDoubled},
          .make = make_strategy<ReadThenWrite>};
}

}  // namespace rushgate::strategies
