// A program that sells on a Redis server: sells_on_redis <url> <file of orders>. Exits with 0 if it
// sells.
#include <rushgate/redis_backend.h>
#include <rushgate/sale.h>
#include <rushgate/sqlite_order_store.h>

int main(int argc, char** argv) {
  using namespace rushgate;
  if (argc != 3) return 2;
  auto redis = RedisBackend::open(RedisOptions::from_url(argv[1]).value()).value();
  auto orders = SqliteOrderStore::open(argv[2]).value();
  auto sale = Sale::open(*redis, *orders).value();
  if (!sale->publish({.id = 7, .stock = 1, .end_ms = 4'102'444'800'000}).ok()) return 1;
  return sale->buy(7, /*user=*/1001).outcome == Outcome::kAccepted ? 0 : 1;
}
