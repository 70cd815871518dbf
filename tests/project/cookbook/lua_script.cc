#include <cstdint>
#include <cstdio>
#include <string>

#include <rushgate/testing_rush.h>

namespace {

using namespace rushgate;
using namespace rushgate::testing;

/// The script under test. It has a fault: it forgets a buyer after 300 ms.
const std::string kBuy = R"lua(
  if tonumber(redis.call('GET', KEYS[1]) or 0) <= 0 then return 1 end
  if not redis.call('SET', KEYS[2], '1', 'NX', 'PX', 300) then return 2 end
  redis.call('DECR', KEYS[1])
  redis.call('XADD', KEYS[3], '*', 'user', ARGV[1], 'voucher', ARGV[2])
  return 0
)lua";

SaleUnderTest sale_of(std::int64_t stock) {
  return {
      .prepare = [stock](Client& client) { client("SET", "stock:1", stock); },
      .buy = by_script(
          kBuy,
          [](const RushRequest& request) -> ScriptArguments {
            const std::string user = std::to_string(request.user);
            return {.keys = {"stock:1", "buyer:1:" + user, "orders"}, .arguments = {user, "1"}};
          },
          accepted_if(Reply::integer(0))),
      .orders = orders_in_stream("orders", "user", "voucher"),
  };
}

/// Returns the number of seeds with which the rush finds a fault.
int count_failures(std::int64_t stock) {
  int failures = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    TestEngine engine;
    const RushOptions rush = {.seed = seed, .vouchers = {{.id = 1, .stock = stock}}};
    const RushReport report = run_rush(engine, sale_of(stock), rush);
    if (!report.passed() && ++failures == 1) {
      std::printf("seed %d: user %d has %d orders\n", static_cast<int>(seed),
                  static_cast<int>(report.doubled.at(0).user),
                  static_cast<int>(report.doubled.at(0).orders));
    }
  }
  return failures;
}

}  // namespace

int main() {
  for (const std::int64_t stock : {100, 180, 1'000}) {
    std::printf("stock %d: fails with %d of 20 seeds\n", static_cast<int>(stock),
                count_failures(stock));
  }
}
