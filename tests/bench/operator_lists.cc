// What the operator's page asks for, with many orders in the database:
//   operator_lists [orders] [directory]                                     (10,000,000, a new one)
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <SQLiteCpp/Database.h>

#include "tests/bench/samples.h"
#include "tests/bench/served_sale.h"
#include "tests/bench/stopwatch.h"
#include "tests/support/http_client.h"
#include <rushgate/http_server.h>

namespace rushgate::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kOrdersPerBatch = 10'000;
constexpr std::int64_t kVouchers = 10;
constexpr VoucherId kUnpaidVoucher = kVouchers;  // its orders wait for payment
constexpr std::int64_t kUsersOrders = 3;
constexpr int kRequests = 15;  // for each target

/// Stores orders of ten vouchers, three by each user. One in 1,000 is cancelled or refunded.
void fill(OrderStore& orders, const fs::path& file, std::int64_t count) {
  const Stopwatch watch;
  const auto state = orders.state();
  if (!state.ok()) fail(state.status().ToString());
  std::map<VoucherId, std::int64_t> stock;
  for (VoucherId voucher = 1; voucher <= kVouchers; ++voucher) stock[voucher] = kUnlimited;
  const BatchFence fence{.epoch = state->epoch, .checkpoint = state->checkpoint, .stock = stock};
  std::vector<Order> batch;
  for (std::int64_t id = 1; id <= count; ++id) {
    const VoucherId voucher = 1 + id % kVouchers;
    const bool is_unpaid = voucher == kUnpaidVoucher;
    batch.push_back({.id = id,
                     .user = UserId(id / kUsersOrders),
                     .voucher = voucher,
                     .status = is_unpaid ? OrderStatus::kUnpaid : OrderStatus::kCreated,
                     .admitted_at_ms = 1'700'000'000'000 + id,
                     .entry = {1'700'000'000'000 + static_cast<std::uint64_t>(id), 0},
                     .price_cents = 250,
                     .due_at_ms = is_unpaid ? 1'800'000'000'000 : 0,
                     .reference = "till " + std::to_string(id)});
    if (id % kOrdersPerBatch != 0 && id != count) continue;
    const auto written = orders.write(batch, fence);
    if (!written.ok()) fail(written.status().ToString());
    batch.clear();
  }
  SQLite::Database database(file.string(), SQLite::OPEN_READWRITE);
  database.exec("UPDATE orders SET status = 6 + id % 2 WHERE id % 1000 = 7");
  database.exec(
      "INSERT INTO payments SELECT 'pay ' || id, id, 250, 2, 0, 0, 'refunded' FROM orders "
      "WHERE id % 1000 = 7");
  std::printf("%.0f s for %lld orders, %.1f GB\n", watch.seconds(), static_cast<long long>(count),
              static_cast<double>(fs::file_size(file)) / 1e9);
}

class OperatorRequests {
 public:
  explicit OperatorRequests(std::uint16_t port) : connection_(port) {}

  /// Shows how long a request takes: of one page, or with `pages` of all.
  void show(const std::string& target) {
    Samples samples;
    std::size_t bytes = 0;
    for (int i = 0; i < kRequests; ++i) {
      const Stopwatch watch;
      bytes = get(target).body.size();
      samples.add(watch.seconds() * 1e3);
    }
    std::printf("%8.1f ms, at most %8.1f, %7zu bytes: %s\n", samples.median(), samples.max(), bytes,
                target.c_str());
    std::fflush(stdout);
  }
  /// Follows `next` until an order is found or all were looked at.
  void show_search(const std::string& target) {
    const Stopwatch watch;
    Samples samples;
    int requests = 0;
    std::string after;
    while (true) {
      const Stopwatch one;
      const auto page = get(target + after).json();
      samples.add(one.seconds() * 1e3);
      ++requests;
      if (!page["orders"].empty() || page["next"].is_null()) break;
      after = "&after=" + page["next"].get<std::string>();
    }
    std::printf("%8.1f ms, at most %8.1f, in %d requests of %.1f s: %s\n", samples.median(),
                samples.max(), requests, watch.seconds(), target.c_str());
    std::fflush(stdout);
  }

 private:
  testing::HttpReply get(const std::string& target) {
    testing::HttpReply reply = connection_.call("GET", target);
    if (reply.status != 200) fail(target + ": " + reply.body);
    return reply;
  }

  testing::HttpConnection connection_;
};

void measure_lists(std::int64_t count, const fs::path& dir) {
  std::vector<Voucher> vouchers;
  for (VoucherId id = 1; id <= kVouchers; ++id) {
    vouchers.push_back({.id = id,
                        .title = "voucher " + std::to_string(id),
                        .stock = kUnlimited,
                        .limits = {.per_user = 0}});
  }
  const auto sale = open_served_sale(dir.string(), vouchers);
  fill(sale->orders(), dir / "orders.db", count);
  auto server = HttpServer::start(*sale, {.port = 0});
  if (!server.ok()) fail(server.status().ToString());
  OperatorRequests requests((*server)->port());
  const std::string middle = std::to_string(count / 2);
  requests.show("/v1/orders/" + middle);
  requests.show("/v1/orders?sort=newest&limit=200");
  requests.show("/v1/orders?sort=newest&limit=200&after=" + middle);
  requests.show("/v1/orders?sort=newest&limit=200&user=" + std::to_string(count / 6));
  requests.show("/v1/orders?sort=newest&limit=200&voucher=3");
  for (const char* const state : {"created", "unpaid", "paid", "refunding", "cancelled"}) {
    requests.show("/v1/orders?sort=newest&limit=200&state=" + std::string(state));
    requests.show("/v1/orders?sort=newest&limit=200&voucher=10&state=" + std::string(state));
  }
  requests.show("/v1/orders?sort=newest&limit=200&reference=till%20" + middle);
  requests.show_search("/v1/orders?sort=newest&limit=200&reference=till%20" + middle);
  requests.show_search("/v1/orders?sort=newest&limit=200&reference=none");
  requests.show_search("/v1/orders?sort=newest&limit=200&state=refunding");
  requests.show("/v1/orders?limit=200&state=refunding");
  requests.show("/v1/payments?state=due&limit=200");
  requests.show("/v1/payments?state=due&limit=200&voucher=3");
  requests.show("/v1/changes?order=" + middle);
  requests.show("/v1/users/" + std::to_string(count / 6) + "/orders");
  requests.show("/v1/vouchers?limit=1000");
  requests.show("/v1/statistics");
  requests.show("/metrics");
  requests.show("/v1/counts?voucher=3");
  requests.show("/v1/counts");
}

}  // namespace
}  // namespace rushgate::bench

int main(int argc, char** argv) {
  const std::int64_t count = argc > 1 ? std::atoll(argv[1]) : 10'000'000;
  const rushgate::bench::ScratchDirectory scratch;
  const std::filesystem::path dir = argc > 2 ? argv[2] : scratch.path();
  rushgate::bench::measure_lists(count, dir);
  return 0;
}
