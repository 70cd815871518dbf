// Does a fixed amount of work on the admission path, for counting instructions:
//   valgrind --tool=callgrind --toggle-collect='rushgate::Sale::buy*' admission_path accepted
// Use --toggle-collect='rushgate::EmbeddedClient::pipeline*' for lua, and
// --toggle-collect='rushgate::OrderWorker::step*' for orders, which is the work of a worker without
// its database.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "tests/bench/seckill_script.h"
#include "tests/bench/shop.h"
#include "tests/bench/users.h"
#include <rushgate/order_worker.h>

namespace rushgate::bench {
namespace {

constexpr int kBatches = 20;
constexpr int kBatch = 1'000;

/// In manual mode no other thread passes requests to the counted one, so the counts of any two runs
/// are equal, on an idle machine and on a busy one.
std::unique_ptr<Shop> open_shop(std::int64_t stock) {
  static ManualClock clock;
  return std::make_unique<Shop>(Durability::kMemory, stock, EngineOptions{.manual_clock = &clock});
}

std::unique_ptr<Shop> open_shop(Outcome outcome) {
  auto shop = open_shop(outcome == Outcome::kSoldOut ? 1 : kUnlimited);
  if (outcome == Outcome::kSoldOut) {
    expect(Outcome::kAccepted, shop->sale().buy(kVoucher, user_id(0)));
  }
  return shop;
}

void run_one_by_one(Outcome outcome) {
  const auto shop = open_shop(outcome);
  for (int number = 1; number <= kBatches * kBatch; ++number) {
    expect(outcome, shop->sale().buy(kVoucher, user_id(number)));
  }
}

void run_in_batches(Outcome outcome) {
  const auto shop = open_shop(outcome);
  std::vector<BuyRequest> requests(kBatch);
  std::int64_t number = 0;
  for (int batch = 0; batch < kBatches; ++batch) {
    for (BuyRequest& request : requests) {
      request = {.voucher = kVoucher, .user = user_id(++number)};
    }
    for (const BuyResult& result : shop->sale().buy_all(requests)) expect(outcome, result);
  }
}

/// Runs the seckill script by EVALSHA.
void run_lua() {
  const auto shop = open_shop(kUnlimited);
  Client& client = shop->client();
  client("SET", kStockKey, kUnlimited);
  client("SCRIPT", "LOAD", seckill_script().text());
  std::int64_t number = 0;
  for (int batch = 0; batch < kBatches; ++batch) {
    std::vector<Request> requests;
    requests.reserve(kBatch);
    for (int i = 0; i < kBatch; ++i) {
      const std::int64_t user = user_id(++number);
      requests.push_back(Request::of("EVALSHA", seckill_script().sha1(), 3, kStockKey, kBuyersKey,
                                     kOrderStream, 1, user, user));
    }
    for (const Reply& reply : client.pipeline(requests)) {
      if (reply != Reply::integer(0)) fail("the script returned " + to_debug_string(reply));
    }
  }
}

/// Moves orders from the stream to a cheap database. `retain_ms` is WorkerOptions'.
void run_orders(std::int64_t retain_ms) {
  Shop shop(Durability::kOs);
  shop.rate_in_batches(kBatches * kBatch, kBatch);
  OrderWorker worker(shop.engine(), shop.orders(), shop.sale().options().keys,
                     {.retain_ms = retain_ms});
  std::size_t stored = 0;
  while (stored < kBatches * kBatch) stored += worker.step().stored;
}

}  // namespace
}  // namespace rushgate::bench

int main(int argc, char** argv) {
  using namespace rushgate;
  const std::string_view what = argc == 2 ? argv[1] : "";
  if (what == "accepted") {
    bench::run_in_batches(Outcome::kAccepted);
  } else if (what == "sold-out") {
    bench::run_in_batches(Outcome::kSoldOut);
  } else if (what == "accepted-one-by-one") {
    bench::run_one_by_one(Outcome::kAccepted);
  } else if (what == "sold-out-one-by-one") {
    bench::run_one_by_one(Outcome::kSoldOut);
  } else if (what == "lua") {
    bench::run_lua();
  } else if (what == "orders") {
    bench::run_orders(0);
  } else if (what == "orders-retained") {
    bench::run_orders(3'600'000);
  } else {
    std::fprintf(stderr,
                 "usage: admission_path accepted|sold-out|accepted-one-by-one|"
                 "sold-out-one-by-one|lua|orders|orders-retained\n");
    return 2;
  }
  return EXIT_SUCCESS;
}
