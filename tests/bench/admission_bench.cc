// Measures one purchase, without a peer. Use it for profiles, and to see the effect of a change.
#include <vector>

#include <benchmark/benchmark.h>

#include "tests/bench/shop.h"
#include "tests/bench/users.h"

namespace rushgate::bench {
namespace {

constexpr auto kMemory = static_cast<std::int64_t>(Durability::kMemory);
constexpr auto kOs = static_cast<std::int64_t>(Durability::kOs);

void buy_one_by_one(benchmark::State& state, Shop& shop, Outcome outcome) {
  std::int64_t number = shop.take_users(0);
  for (auto _ : state) expect(outcome, shop.sale().buy(kVoucher, user_id(++number)));
  state.SetItemsProcessed(state.iterations());
}

void buy_in_batches(benchmark::State& state, Shop& shop, Outcome outcome) {
  std::int64_t number = shop.take_users(0);
  std::vector<BuyRequest> requests(static_cast<std::size_t>(state.range(1)));
  for (auto _ : state) {
    for (BuyRequest& request : requests) {
      request = {.voucher = kVoucher, .user = user_id(++number)};
    }
    for (const BuyResult& result : shop.sale().buy_all(requests)) expect(outcome, result);
  }
  state.SetItemsProcessed(state.iterations() * state.range(1));
}

void accepted_one_by_one(benchmark::State& state) {
  Shop shop(static_cast<Durability>(state.range(0)));
  buy_one_by_one(state, shop, Outcome::kAccepted);
}

void accepted_in_batches(benchmark::State& state) {
  Shop shop(static_cast<Durability>(state.range(0)));
  buy_in_batches(state, shop, Outcome::kAccepted);
}

void sold_out_one_by_one(benchmark::State& state) {
  Shop shop(static_cast<Durability>(state.range(0)), 1);
  expect(Outcome::kAccepted, shop.sale().buy(kVoucher, user_id(0)));
  buy_one_by_one(state, shop, Outcome::kSoldOut);
}

void sold_out_in_batches(benchmark::State& state) {
  Shop shop(static_cast<Durability>(state.range(0)), 1);
  expect(Outcome::kAccepted, shop.sale().buy(kVoucher, user_id(0)));
  buy_in_batches(state, shop, Outcome::kSoldOut);
}

BENCHMARK(accepted_one_by_one)->ArgName("durability")->Arg(kMemory)->Arg(kOs);
BENCHMARK(accepted_in_batches)
    ->ArgNames({"durability", "batch"})
    ->Args({kMemory, 128})
    ->Args({kMemory, 1'000})
    ->Args({kOs, 128})
    ->Args({kOs, 1'000});
BENCHMARK(sold_out_one_by_one)->ArgName("durability")->Arg(kMemory);
BENCHMARK(sold_out_in_batches)->ArgNames({"durability", "batch"})->Args({kMemory, 1'000});

}  // namespace
}  // namespace rushgate::bench
