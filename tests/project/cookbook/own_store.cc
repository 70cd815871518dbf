#include <cstddef>
#include <cstdio>
#include <memory>
#include <utility>

#include "tests/project/cookbook/counting_store.h"
#include <rushgate/clock.h>
#include <rushgate/engine.h>
#include <rushgate/flash_sale.h>
#include <rushgate/memory_order_store.h>
#include <rushgate/memory_store.h>

int main() {
  using namespace rushgate;
  CommitCounts counts;
  ManualClock clock;  // no threads, so every run has the same commits
  auto store = std::make_unique<CountingStore>(std::make_unique<MemoryStore>(), counts);
  auto engine = Engine::open(std::move(store), {.manual_clock = &clock}).value();
  const auto sale =
      FlashSale::open(std::move(engine), std::make_unique<MemoryOrderStore>(), {.workers = 0})
          .value();
  if (!sale->publish_if_new({.id = 7, .title = "Coffee", .stock = 200}).ok()) return 1;

  std::size_t before = counts.commits;
  for (std::int64_t user = 1; user <= 100; ++user) sale->buy(7, user);
  std::printf("100 purchases, one after another: %zu commits\n", counts.commits - before);

  before = counts.commits;
  for (std::int64_t user = 101; user <= 200; ++user) {
    if (!sale->submit_buy({.voucher = 7, .user = user}, [](const BuyResult&) {})) return 1;
  }
  sale->poll();
  std::printf("100 submitted purchases: %zu commits\n", counts.commits - before);
}
