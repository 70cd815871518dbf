#include <cstdio>
#include <string>

#include "tests/project/orders/granting_sale.h"

/// Sells three swords, of which two are paid. The second process finds the first one's work done.
int main() {
  using namespace rushgate;
  const Voucher sword = {
      .id = 7, .title = "Sword", .stock = 3, .price_cents = 499, .payment_ms = 15 * 60'000};
  for (int process = 1; process <= 2; ++process) {
    GrantingSale game(".");
    FlashSale& sale = game.sale();
    if (!sale.publish_if_new(sword).ok()) return 1;
    for (const std::int64_t user : {1, 2, 3}) {
      const OrderId order = sale.buy(sword.id, user, "click " + std::to_string(user)).order;
      if (user == 3) continue;  // this user does not pay
      const ChangeResult paid = sale.pay(
          {.order = order, .payment = "payment-" + std::to_string(user), .amount_cents = 499});
      std::printf("user %d: %s%s\n", static_cast<int>(user),
                  std::string(change_outcome_name(paid.outcome)).c_str(),
                  paid.is_repeated ? ", repeated" : "");
    }
    if (!sale.drain().ok()) return 1;
    std::printf("process %d: %d items granted, position %d\n", process,
                static_cast<int>(game.items().count()), static_cast<int>(game.items().position()));
  }
}
