#include <cstdio>

#include <rushgate/flash_sale.h>

int main(int argc, char** argv) {
  using namespace rushgate;
  const auto sale = FlashSale::open(argc > 1 ? argv[1] : "shop").value();  // a directory, or a URL
  const Voucher coffee = {.id = 7, .title = "Coffee", .stock = 100};
  if (!sale->publish_if_new(coffee).ok()) return 1;

  const BuyResult bought = sale->buy(coffee.id, /*user=*/1001, /*idempotency_key=*/"click-1");
  if (!sale->drain().ok()) return 1;  // waits until the order is stored
  const OrderState state = sale->status(bought.order).value();
  std::printf("order %s, %s, audit %s\n", outcome_name(bought.outcome).data(),
              order_location_name(state.location).data(),
              sale->audit()->passed() ? "passed" : "failed");
}
