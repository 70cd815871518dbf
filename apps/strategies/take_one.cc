#include "apps/strategies/take_one.h"

namespace rushgate::strategies {

Decision take_one(Desk& desk, std::int64_t user) {
  const std::int64_t stock = desk.orders.stock();
  if (stock <= 0) return Decision::kSoldOut;
  if (desk.orders.has_order(user)) return Decision::kHasOne;
  desk.schedule.between_read_and_write(user, stock);
  auto transaction = desk.orders.transaction();
  const int changed = desk.orders.change("UPDATE voucher SET stock = stock - 1 WHERE stock > 0");
  if (changed == 0) return Decision::kSoldOut;
  desk.schedule.half_done();
  desk.orders.insert_order(user);
  transaction.commit();
  return Decision::kAccepted;
}

Decision take_one_alone(Desk& desk, std::int64_t user) {
  const std::int64_t stock = desk.orders.stock();
  if (stock <= 0) return Decision::kSoldOut;
  if (desk.orders.has_order(user)) return Decision::kHasOne;
  desk.schedule.between_read_and_write(user, stock);
  auto transaction = desk.orders.transaction();
  desk.orders.change("UPDATE voucher SET stock = ?", stock - 1);
  desk.schedule.half_done();
  desk.orders.insert_order(user);
  transaction.commit();
  return Decision::kAccepted;
}

}  // namespace rushgate::strategies
