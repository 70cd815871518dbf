#include <iostream>

#include <rushgate/memory_order_store.h>
#include <rushgate/open_backend.h>
#include <rushgate/sale.h>
#include <rushgate/testing_rush.h>

int main(int argc, char** argv) {
  using namespace rushgate;
  const CustomAdmission admission = {.text = R"lua(
        if redis.call('SISMEMBER', KEYS[3], ARGV[1]) == 1 then return 3 end
        if tonumber(redis.call('GET', KEYS[2])) <= 0 then return 1 end
        if redis.call('SISMEMBER', KEYS[1], ARGV[1]) == 1 then return 2 end
        redis.call('INCRBY', KEYS[2], -1)
        redis.call('SADD', KEYS[1], ARGV[1])
        redis.call('XADD', 'stream.orders', '*', 'id', ARGV[2], 'userId', ARGV[1], 'voucherId', ARGV[3])
        return 0)lua",
                                     .keys = {"<buyers>", "<stock>", "shop:blocked"},
                                     .arguments = {"<user>", "<order>", "<voucher>"},
                                     .codes = {{0, Outcome::kAccepted},
                                               {1, Outcome::kSoldOut},
                                               {2, Outcome::kLimitReached},
                                               {3, Outcome::kRefused, "is blocked"}}};
  std::cout << rushgate::testing::check_admission(admission);  // in a unit test

  auto backend = open_backend(argc > 1 ? argv[1] : "memory:").value();  // or a directory, redis://…
  MemoryOrderStore orders;
  const auto sale = Sale::open(*backend, orders, {.admission = admission}).value();
  const Voucher coffee = {.id = 7, .title = "Coffee", .stock = 2, .end_ms = 4'102'444'800'000};
  if (!sale->publish_if_new(coffee).ok()) return 1;
  if (backend->open_client()->call(Request::of("SADD", "shop:blocked", 666)).is_error()) return 1;
  for (const std::int64_t user : {666, 1001, 1001, 1002, 1003}) {
    const BuyResult bought = sale->buy(coffee.id, user);
    std::cout << user << ": " << outcome_name(bought.outcome);
    std::cout << (bought.detail.empty() ? "" : ", " + bought.detail) << '\n';
  }
  std::cout << "audit " << (sale->audit()->passed() ? "passed" : "failed") << '\n';
}
