// (b) Optimistic lock: each purchase raises the version of the voucher. It writes only if the
// version is still the one that it has read.
//
// So every value read is still true at the write, and nothing is oversold or doubled. But of all
// requests that read the same version, only one succeeds. The others are refused although there is
// stock.
#include "apps/strategies/strategies.h"

namespace rushgate::strategies {
namespace {

class VersionCheck final : public Strategy {
 public:
  using Strategy::Strategy;

  Decision buy(Desk& desk, std::int64_t user) override {
    const std::int64_t version = *desk.orders.number("SELECT version FROM voucher");
    const std::int64_t stock = desk.orders.stock();
    if (stock <= 0) return Decision::kSoldOut;
    if (desk.orders.has_order(user)) return Decision::kHasOne;
    desk.schedule.between_read_and_write(user, stock);
    auto transaction = desk.orders.transaction();
    const int changed = desk.orders.change(
        "UPDATE voucher SET stock = stock - 1, version = version + 1 WHERE version = ?", version);
    if (changed == 0) return Decision::kTurnedAway;
    desk.schedule.half_done();
    desk.orders.insert_order(user);
    transaction.commit();
    return Decision::kAccepted;
  }
};

}  // namespace

StrategyKind version_check() {
  return {.letter = "b",
          .name = "optimistic lock, version",
          .forced = {{ScheduleKind::kLastPiece, true}, {ScheduleKind::kClicksMeet, true}},
          .faults = {Fault::kTurnedAway},
          .make = make_strategy<VersionCheck>};
}

}  // namespace rushgate::strategies
