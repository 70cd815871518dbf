#include <cstdint>
#include <iostream>

#include <rushgate/locks.h>
#include <rushgate/memory_order_store.h>
#include <rushgate/open_backend.h>
#include <rushgate/sale.h>

int main(int argc, char** argv) {
  using namespace rushgate;
  constexpr VoucherId kCoffee = 7;
  auto backend = open_backend(argc > 1 ? argv[1] : "memory:").value();  // or a directory, redis://…
  LockManager manager(*backend);
  PlainSemaphore stock(manager, SaleKeys().stock(kCoffee));  // getSemaphore("seckill:stock:7")
  if (!stock.try_set_permits(5).ok()) return 1;              // or a JVM did: trySetPermits(5)

  // Sells together with the JVMs.
  std::cout << "three pieces: " << stock.acquire(/*count=*/3, /*wait_ms=*/0).value() << '\n';
  std::cout << "four more: " << stock.acquire(/*count=*/4, /*wait_ms=*/0).value() << '\n';
  if (!stock.release().ok()) return 1;  // one of the three is given back

  // The JVMs have stopped. A sale takes over the rest.
  const std::int64_t left = stock.available().value();
  MemoryOrderStore orders;
  const auto sale = Sale::open(*backend, orders, {.adopt = true}).value();
  const Voucher coffee = {
      .id = kCoffee, .title = "Coffee", .stock = left, .end_ms = 4'102'444'800'000};
  if (!sale->publish(coffee).ok()) return 1;
  for (const std::int64_t user : {1001, 1002, 1003, 1004}) {
    std::cout << user << ": " << outcome_name(sale->buy(kCoffee, user).outcome) << '\n';
  }
  std::cout << "audit " << (sale->audit()->passed() ? "passed" : "failed") << '\n';
}
