// The figures of a sale: what they count, and that Prometheus takes them.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "adapters/flash_sale/json_text.h"
#include "tests/support/command_output.h"
#include "tests/support/http_client.h"
#include "tests/support/patterns.h"
#include "tests/support/redis_server/redis_server.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/flash_sale.h>
#include <rushgate/http_server.h>
#include <rushgate/memory_order_store.h>
#include <rushgate/metrics.h>
#include <rushgate/open_backend.h>
#include <rushgate/sale_statistics.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::output_of;

constexpr VoucherId kTea = 7;

/// Without threads: drain() stores.
std::unique_ptr<FlashSale> open_sale(const std::string& place, FlashSaleOptions options = {}) {
  options.workers = 0;
  return FlashSale::open(place, options).value();
}

void publish(FlashSale& sale, VoucherId id, std::int64_t stock, std::int64_t payment_ms = 0) {
  const Voucher voucher = {
      .id = id, .title = "Tea", .stock = stock, .price_cents = 5, .payment_ms = payment_ms};
  ASSERT_EQ(sale.publish(voucher), absl::OkStatus());
}

std::int64_t orders_in(const SaleStatistics& statistics, OrderStatus status) {
  return statistics.orders->by_status[static_cast<std::size_t>(status) - 1];
}

// ---- What is counted --------------------------------------------------------------------------

TEST(SaleStatisticsTest, PurchasesAreCountedByOutcome) {
  const auto sale = open_sale("memory:");
  publish(*sale, kTea, 2);
  sale->buy(kTea, 1, "key");
  sale->buy(kTea, 1, "key");
  sale->buy(kTea, 1);
  sale->buy({.voucher = kTea, .user = 2, .quantity = 0});
  const std::vector<BuyRequest> more = {{.voucher = kTea, .user = 3},
                                        {.voucher = kTea, .user = 4},
                                        {.voucher = kTea, .user = 1, .idempotency_key = "key"}};
  static_cast<void>(sale->sale().buy_all(more));
  sale->buy(8, 1);

  const PurchaseStatistics purchases = sale->statistics().purchases;
  ASSERT_EQ(purchases.vouchers.size(), 1U);
  const PurchaseCounts& tea = purchases.vouchers.at(kTea);
  EXPECT_EQ(tea.of(Outcome::kAccepted), 2U);
  EXPECT_EQ(tea.repeated, 2U);
  EXPECT_EQ(tea.of(Outcome::kLimitReached), 1U);
  EXPECT_EQ(tea.of(Outcome::kSoldOut), 1U);
  EXPECT_EQ(tea.of(Outcome::kFailed), 1U);
  EXPECT_EQ(purchases.others.of(Outcome::kUnknownVoucher), 1U);
}

TEST(SaleStatisticsTest, VouchersBeyondHundredAreCountedTogether) {
  const auto sale = open_sale("memory:");
  constexpr VoucherId kVouchers = 103;
  for (VoucherId id = 1; id <= kVouchers; ++id) {
    publish(*sale, id, 1);
    sale->buy(id, 1);
  }
  const SaleStatistics statistics = sale->statistics();
  EXPECT_EQ(statistics.purchases.vouchers.size(), PurchaseStatistics::kVouchersMax);
  EXPECT_EQ(statistics.purchases.others.of(Outcome::kAccepted), 3U);
  EXPECT_EQ(statistics.vouchers.size(), PurchaseStatistics::kVouchersMax);
  EXPECT_EQ(statistics.vouchers_published, 103U);
}

TEST(SaleStatisticsTest, EveryRequestOfLargeCallIsTimed) {
  const auto sale = open_sale("memory:");
  publish(*sale, kTea, 1'000);
  std::vector<BuyRequest> requests;
  for (std::int64_t user = 1; user <= 200; ++user)
    requests.push_back({.voucher = kTea, .user = user});
  static_cast<void>(sale->sale().buy_all(requests));
  const LatencyFigures latency = sale->statistics().purchases.latency;
  EXPECT_EQ(latency.count, 200U);
  EXPECT_EQ(latency.within.back(), 200U);
  EXPECT_EQ(latency.recent.count, 200U);
  EXPECT_GT(latency.recent.p50_ns, 0);
  EXPECT_GT(latency.sum_s, 0);
}

TEST(SaleStatisticsTest, OrdersAreQueuedThenCountedByState) {
  const TemporaryDirectory dir;
  const auto sale = open_sale(dir.path().string());
  publish(*sale, kTea, 10);
  publish(*sale, 8, 10, 60'000);
  sale->buy(kTea, 1);
  sale->buy(8, 1);
  sale->buy(8, 2);
  const SaleStatistics queued = sale->statistics();
  EXPECT_EQ(queued.queue->waiting.value() + queued.queue->pending, 3);
  ASSERT_EQ(sale->drain(), absl::OkStatus());

  SaleStatistics stored = sale->statistics();
  while (orders_in(stored, OrderStatus::kUnpaid) == 0) stored = sale->statistics();  // counted anew
  EXPECT_EQ(stored.queue->waiting, 0);
  EXPECT_EQ(stored.queue->pending, 0);
  EXPECT_EQ(orders_in(stored, OrderStatus::kCreated), 1);
  EXPECT_EQ(orders_in(stored, OrderStatus::kUnpaid), 2);
  EXPECT_EQ(stored.workers.counts.stored, 3U);
  EXPECT_GT(stored.workers.counts.batches, 0U);
  EXPECT_EQ(stored.dead_letters, 0);
  EXPECT_GT(stored.keyspace->commits.value(), 0U);
  EXPECT_EQ(stored.keyspace->stalls, 0U);
  EXPECT_EQ(stored.keyspace->durability, "os");
}

TEST(SaleStatisticsTest, PausedWorkerNamesItsReason) {
  auto orders = std::make_unique<faults::FaultyOrderStore>(std::make_unique<MemoryOrderStore>());
  faults::FaultyOrderStore& database = *orders;
  FlashSaleOptions options;
  options.worker.pause_ms_max = 1;
  options.worker.retry_after_ms = 1;
  const auto sale =
      FlashSale::open(open_backend("memory:").value(), std::move(orders), options).value();
  publish(*sale, kTea, 10);
  database.fail_writes(absl::UnavailableError("the disk of the database is full"));
  sale->buy(kTea, 1);
  SaleStatistics statistics;
  while (statistics.workers.pause_reasons.empty()) statistics = sale->statistics();
  EXPECT_THAT(statistics.workers.pause_reasons, ElementsAre(HasSubstr("database is full")));
  EXPECT_GT(statistics.workers.counts.pauses, 0U);
  EXPECT_EQ(statistics.workers.running, 1U);
}

// ---- For Prometheus ---------------------------------------------------------------------------

/// Returns what promtool finds wrong with metrics.
std::string lint(const std::string& text) {
  const TemporaryDirectory dir;
  const std::string file = dir.path().string() + "/metrics";
  std::ofstream(file) << text;
  int status = 0;
  std::string output = output_of("promtool check metrics < " + file, &status);
  if (status != 0 && output.empty()) output = "exit code " + std::to_string(status);
  return output;
}

TEST(MetricsTest, PromtoolTakesTextOfEmbeddedSale) {
  const TemporaryDirectory dir;
  const auto sale = open_sale(dir.path().string());
  publish(*sale, kTea, 1);
  sale->buy(kTea, 1);
  sale->buy(kTea, 2);
  ASSERT_EQ(sale->drain(), absl::OkStatus());
  const std::string text = metrics_text(*sale);
  EXPECT_EQ(lint(text), "");
  EXPECT_THAT(text, HasSubstr("rushgate_purchases_total{voucher=\"7\",outcome=\"sold_out\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("rushgate_voucher_free_pieces{voucher=\"7\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("rushgate_rocksdb_stalls_total 0\n"));
}

TEST(MetricsTest, PromtoolTakesTextOfSaleOnRedis) {
  const testing::RedisServer redis;
  const TemporaryDirectory dir;
  FlashSaleOptions options;
  options.orders_dir = dir.path();
  const auto sale = open_sale(redis.url(), options);
  publish(*sale, kTea, 1);
  sale->buy(kTea, 1);
  const std::string text = metrics_text(*sale);
  EXPECT_EQ(lint(text), "");
  EXPECT_THAT(text, HasSubstr("rushgate_redis_evicted_keys_total 0\n"));
  EXPECT_THAT(text, HasSubstr("rushgate_queue_entries{state=\"waiting\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("rushgate_keyspace_commits_total")));
}

TEST(MetricsTest, HttpServerAddsItsOwnFigures) {
  const auto sale = open_sale("memory:");
  HttpServerOptions options;
  options.port = 0;
  options.operator_token = "secret";
  const auto server = HttpServer::start(*sale, options).value();
  testing::HttpConnection client(server->port());
  const std::string token = "Authorization: Bearer secret\r\n";
  EXPECT_EQ(client.call("GET", "/metrics").status, 401);
  EXPECT_EQ(client.call("GET", "/none").status, 404);
  const testing::HttpReply reply = client.call("GET", "/metrics", "", token);
  EXPECT_EQ(reply.field("content-type"), kMetricsType);
  EXPECT_EQ(lint(reply.body), "");
  EXPECT_THAT(
      reply.body,
      HasSubstr(
          "rushgate_http_requests_total{method=\"GET\",route=\"/metrics\",status=\"4xx\"} 1\n"));
  EXPECT_THAT(reply.body, HasSubstr("rushgate_http_connections 1\n"));
  const auto json = client.call("GET", "/v1/statistics", "", token).json();
  EXPECT_EQ(json["http"]["connections"], 1);
  EXPECT_EQ(json["purchases"]["all"]["accepted"], 0);
}

TEST(MetricsTest, UnreachableRedisLeavesItsFiguresOut) {
  auto redis = std::make_unique<testing::RedisServer>();
  const TemporaryDirectory dir;
  FlashSaleOptions options;
  options.orders_dir = dir.path();
  const auto sale = open_sale(redis->url(), options);
  publish(*sale, kTea, 1);
  redis.reset();
  while (sale->health().ok()) sale->buy(kTea, 1);
  const std::string text = metrics_text(*sale);
  EXPECT_EQ(lint(text), "");
  EXPECT_THAT(text, HasSubstr("rushgate_keyspace_up 0\n"));
  EXPECT_THAT(text, Not(HasSubstr("rushgate_queue_entries")));
}

// ---- Alerts and the dashboard -----------------------------------------------------------------

const std::filesystem::path kOperations = std::filesystem::path(RUSHGATE_ROOT) / "docs/operations";

std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns the names of metrics in a text: words that begin with one of these prefixes. Those of a
/// histogram lack their suffix.
std::set<std::string> metrics_in(const std::string& text) {
  std::set<std::string> names;
  for (const std::string& name : testing::find_all(text, "\\b(?:rushgate|process)_[a-z_]+")) {
    names.insert(testing::replace_all(name, "(_seconds)_(bucket|sum|count)$", "$1"));
  }
  return names;
}

/// The metrics of an embedded sale behind HTTP, and of one on a Redis, with each figure.
std::set<std::string> scraped_metrics() {
  const TemporaryDirectory dir;
  const auto sale = open_sale(dir.path().string());
  publish(*sale, kTea, 1);
  HttpServerOptions http;
  http.port = 0;
  const auto server = HttpServer::start(*sale, http).value();
  testing::HttpConnection client(server->port());
  client.call("GET", "/healthz");
  std::string text = client.call("GET", "/metrics").body;

  const testing::RedisServer redis({.append_only = true});
  const TemporaryDirectory orders;
  FlashSaleOptions options;
  options.orders_dir = orders.path();
  text += metrics_text(*open_sale(redis.url(), options));
  std::set<std::string> names = metrics_in(text);
  names.insert("rushgate_worker_pause_info");  // only while a worker pauses
  return names;
}

TEST(OperationsFilesTest, AlertsAndDashboardUseMetricsThatExist) {
  const std::set<std::string> scraped = scraped_metrics();
  EXPECT_THAT(scraped, ::testing::IsSupersetOf(metrics_in(read_text(kOperations / "alerts.yml"))));
  const auto dashboard = parse_trusted_json(read_text(kOperations / "dashboard.json"));
  std::set<std::string> shown;
  for (const auto& panel : dashboard["panels"]) {
    for (const auto& target : panel["targets"]) {
      shown.merge(metrics_in(target["expr"].get<std::string>()));
    }
  }
  EXPECT_GT(shown.size(), 20U);
  EXPECT_THAT(scraped, ::testing::IsSupersetOf(shown));
}

/// Replaces an import: Debian has no Grafana.
TEST(OperationsFilesTest, DashboardFitsGrafanasModel) {
  const std::string schema =
      RUSHGATE_ROOT "/tests/unit/adapters/metrics/grafana_dashboard.schema.json";
  int status = 0;
  const std::string output = output_of("/usr/bin/python3 -W ignore -m jsonschema -i " +
                                           (kOperations / "dashboard.json").string() + " " + schema,
                                       &status);
  EXPECT_EQ(status, 0) << output;
}

TEST(OperationsFilesTest, DashboardsPanelsFillTheGridOnce) {
  const auto dashboard = parse_trusted_json(read_text(kOperations / "dashboard.json"));
  std::set<int> ids;
  std::set<std::pair<int, int>> taken;  // cells of the grid
  for (const auto& panel : dashboard["panels"]) {
    EXPECT_TRUE(ids.insert(panel["id"].get<int>()).second) << panel["title"];
    const auto& place = panel["gridPos"];
    const int right = place["x"].get<int>() + place["w"].get<int>();
    EXPECT_LE(right, 24) << panel["title"];
    for (int x = place["x"]; x < right; ++x) {
      for (int y = place["y"]; y < place["y"].get<int>() + place["h"].get<int>(); ++y) {
        EXPECT_TRUE(taken.emplace(x, y).second) << panel["title"];
      }
    }
  }
}

TEST(OperationsFilesTest, PrometheusTakesDashboardsExpressions) {
  const auto dashboard = parse_trusted_json(read_text(kOperations / "dashboard.json"));
  auto rules = nlohmann::ordered_json::array();
  for (const auto& panel : dashboard["panels"]) {
    for (const auto& target : panel["targets"]) {
      rules.push_back({{"record", "panel:" + std::to_string(rules.size())},
                       {"expr", target["expr"]}});  // "$instance" is the text of a matcher here
    }
  }
  const TemporaryDirectory dir;
  const std::string file = (dir.path() / "rules.yml").string();
  std::ofstream(file) << nlohmann::ordered_json{
      {"groups", {{{"name", "panels"}, {"rules", rules}}}}};
  int status = 0;
  const std::string output = output_of("promtool check rules " + file, &status);
  EXPECT_EQ(status, 0) << output;
}

TEST(OperationsFilesTest, PageHasEveryMetricAndAlert) {
  const std::string page = read_text(std::filesystem::path(RUSHGATE_ROOT) / "docs/operations.md");
  for (const std::string& name : scraped_metrics()) EXPECT_THAT(page, HasSubstr(name));
  const std::string alerts = read_text(kOperations / "alerts.yml");
  for (const std::string& alert : testing::find_all(alerts, "alert: ([A-Za-z]+)")) {
    EXPECT_THAT(page, HasSubstr(alert));
  }
}

TEST(OperationsFilesTest, PromtoolTakesAlertsWithTheirTests) {
  int status = 0;
  const std::string output =
      output_of("promtool test rules " + (kOperations / "alerts_test.yml").string(), &status);
  EXPECT_EQ(status, 0) << output;
}

/// Replaces the program, which is not installed here.
TEST(OperationsFilesTest, SystemdTakesUnit) {
  const TemporaryDirectory dir;
  const std::filesystem::path unit = dir.path() / "rushgate.service";
  std::ofstream(unit) << testing::replace_all(read_text(kOperations / "rushgate.service"),
                                              "/usr/local/bin/rushgate", "/bin/true");
  int status = 0;
  const std::string output = output_of("systemd-analyze verify " + unit.string(), &status);
  EXPECT_EQ(status, 0) << output;
  EXPECT_EQ(output, "");
}

}  // namespace
}  // namespace rushgate
