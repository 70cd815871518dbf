// A sale in memory, with all build options off. Exits with 0 if it sells.
#include <memory>

#include <rushgate/engine.h>
#include <rushgate/memory_order_store.h>
#include <rushgate/memory_store.h>
#include <rushgate/sale.h>

int main() {
  using namespace rushgate;
  auto engine = Engine::open(std::make_unique<MemoryStore>()).value();
  MemoryOrderStore orders;
  auto sale = Sale::open(*engine, orders).value();
  if (!sale->publish({.id = 7, .stock = 1, .end_ms = 4'102'444'800'000}).ok()) return 1;
  return sale->buy(7, /*user=*/1001).outcome == Outcome::kAccepted ? 0 : 1;
}
