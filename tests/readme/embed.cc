#include <cstdio>
#include <filesystem>
#include <utility>

#include "engine/executor/engine.h"
#include "engine/sale/orders/order_worker.h"
#include "engine/sale/sale.h"
#include "storage/rocksdb/rocksdb_store.h"
#include "storage/sqlite/sqlite_order_store.h"

int main(int argc, char** argv) {
  using namespace rushgate;
  const std::filesystem::path dir = argc > 1 ? argv[1] : "shop";
  auto store = RocksDbStore::open(dir / "keyspace").value();
  auto engine = Engine::open(std::move(store)).value();
  auto orders = SqliteOrderStore::open(dir / "orders.db").value();
  auto sale = Sale::open(*engine, *orders).value();

  const Voucher coffee = {.id = 7, .title = "Coffee", .stock = 100, .end_ms = 4'102'444'800'000};
  if (!sale->publish(coffee).ok()) return 1;
  const BuyResult bought = sale->buy(coffee.id, /*user=*/1001, /*request_key=*/"click-1");

  OrderWorker worker(*engine, *orders, sale->options().keys);
  while (worker.step().kind == OrderWorker::Step::Kind::kWorked) continue;

  const bool created = sale->status(bought.order)->kind == OrderState::Kind::kCreated;
  const AuditReport audit = sale->audit().value();
  std::printf("order %s, %s, audit %s\n", outcome_name(bought.outcome).data(),
              created ? "created" : "missing", audit.passed() ? "passed" : "failed");
  return created && audit.passed() ? 0 : 1;
}
