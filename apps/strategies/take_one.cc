#include "apps/strategies/take_one.h"

namespace rushgate::strategies {

Answer take_one(Desk& desk, UserId user) {
  const std::int64_t stock = desk.orders.stock();
  if (stock <= 0) return Answer::kSoldOut;
  if (desk.orders.has_order(user)) return Answer::kHasOne;
  desk.schedule.between_read_and_write(user, stock);
  auto transaction = desk.orders.transaction();
  const int changed = desk.orders.change("UPDATE voucher SET stock = stock - 1 WHERE stock > 0");
  if (changed == 0) return Answer::kSoldOut;
  desk.schedule.half_done();
  desk.orders.insert_order(user);
  transaction.commit();
  return Answer::kAccepted;
}

Answer take_one_alone(Desk& desk, UserId user) {
  const std::int64_t stock = desk.orders.stock();
  if (stock <= 0) return Answer::kSoldOut;
  if (desk.orders.has_order(user)) return Answer::kHasOne;
  desk.schedule.between_read_and_write(user, stock);
  auto transaction = desk.orders.transaction();
  desk.orders.change("UPDATE voucher SET stock = ?", stock - 1);
  desk.schedule.half_done();
  desk.orders.insert_order(user);
  transaction.commit();
  return Answer::kAccepted;
}

}  // namespace rushgate::strategies
