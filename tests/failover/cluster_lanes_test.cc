// A sale with lanes on a real cluster: where its lanes are, and what faults of one node do to them.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/cleanup/cleanup.h"
#include "engine/core/client/info_value.h"
#include "engine/core/client/key_slot.h"
#include "tests/failover/failover_probe.h"
#include "tests/support/hooked_backend.h"
#include "tests/support/redis_server/redis_cluster.h"
#include "tests/support/redis_server/sentinel_group.h"
#include <rushgate/flash_sale.h>
#include <rushgate/memory_order_store.h>
#include <rushgate/redis_backend.h>
#include <rushgate/sale.h>
#include <rushgate/sale_statistics.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

using testing::ask;
using testing::RedisCluster;
using testing::RedisServer;
using testing::wait_until;

constexpr std::int64_t kForEverMs = 4'000'000'000'000;

/// Three masters that all tests share, without replicas.
class ClusterLanesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    cluster().heal();
    cluster().flush_all();
    backend_ = *RedisBackend::open(
        *RedisOptions::from_url(cluster().url() + "?reconnect_max_ms=50&command_timeout_ms=1000"));
  }

  static RedisCluster& cluster() {
    static RedisCluster shared({.replicas = 0});
    return shared;
  }

  void open(SaleOptions options = {}) {
    auto sale = Sale::open(*backend_, orders_, std::move(options));
    ASSERT_TRUE(sale.ok()) << sale.status();
    sale_ = *std::move(sale);
  }
  void publish(VoucherId id, std::int64_t stock) { publish({.id = id, .stock = stock}); }
  void publish(Voucher voucher) {
    voucher.end_ms = kForEverMs;
    voucher.limits.per_user = 0;
    const absl::Status published = sale_->publish(voucher);
    ASSERT_TRUE(published.ok()) << published;
  }
  /// Expects that the masters decide on the purchases of `acts` in about equal parts.
  template <class Acts>
  static void expect_spread_evenly(Acts acts) {
    for (std::size_t i = 0; i < cluster().nodes(); ++i) {
      ask(cluster().node(i), Request::of("CONFIG", "RESETSTAT"));
    }
    acts();
    std::vector<std::int64_t> calls;
    for (std::size_t i = 0; i < cluster().nodes(); ++i) {
      const Reply info = ask(cluster().node(i), Request::of("INFO", "commandstats"));
      const std::string orders(info_value(info.text(), "cmdstat_xadd"));
      calls.push_back(std::stoll(orders.substr(orders.find('=') + 1)));
    }
    const auto [least, most] = std::ranges::minmax(calls);
    EXPECT_LT(static_cast<double>(most), 1.1 * static_cast<double>(least))
        << ::testing::PrintToString(calls);
  }
  RedisServer& master_of(const SaleLane& lane) {
    return cluster().owner_of(lane.keys.order_stream);
  }
  std::vector<std::int64_t> epochs() {
    std::vector<std::int64_t> epochs;
    for (const SaleLane& lane : sale_->lanes()) {
      epochs.push_back(lane.stores.orders.state().value().epoch);
    }
    return epochs;
  }

  MemoryOrderStore orders_;
  std::unique_ptr<RedisBackend> backend_;
  std::unique_ptr<Sale> sale_;
};

TEST_F(ClusterLanesTest, SaleHasLanesByDefault) {
  open();
  EXPECT_EQ(sale_->lanes().size(), kLanesOnCluster);
  std::map<RedisServer*, int> lanes;
  for (const SaleLane& lane : sale_->lanes()) ++lanes[&master_of(lane)];
  ASSERT_EQ(lanes.size(), 3U);
  for (const auto& [master, count] : lanes) EXPECT_TRUE(count == 5 || count == 6) << count;
}

TEST_F(ClusterLanesTest, SaleWithOneLaneKeepsIt) {
  open({.lanes = 1});
  publish(1, 5);
  open();
  EXPECT_EQ(sale_->lanes().size(), 1U);
  EXPECT_EQ(sale_->buy(1, 1).outcome, Outcome::kAccepted);
}

TEST_F(ClusterLanesTest, UnusedSaleWithOneLaneKeepsIt) {
  open({.lanes = 1});
  sale_.reset();
  open();
  EXPECT_EQ(sale_->lanes().size(), 1U);
}

TEST_F(ClusterLanesTest, SaleWithTagKeepsItsOnlyLane) {
  const SaleKeys keys{.prefix = "{shop}seckill:",
                      .id_prefix = "{shop}icr:order:",
                      .order_stream = "{shop}stream.orders"};
  open({.keys = keys});
  publish(1, 5);
  open({.keys = keys, .lanes = 4});
  EXPECT_EQ(sale_->lanes()[0].keys.order_stream, "{shop}stream.orders");
  EXPECT_EQ(sale_->buy(1, 1).outcome, Outcome::kAccepted);
  publish(2, 5);
  EXPECT_EQ(sale_->lane_of(2).value().keys.order_stream,
            SaleKeys{}.of_lane(2).prefix.substr(0, 9) + "{shop}stream.orders");
  EXPECT_EQ(sale_->buy(2, 1).outcome, Outcome::kAccepted);
}

TEST_F(ClusterLanesTest, RequestsAreSpreadEvenlyOverMasters) {
  open({.lanes = kLanesMax});
  for (VoucherId id = 1; id <= kLanesMax; ++id) publish({.id = id, .stock = 100});
  expect_spread_evenly([&] {
    for (std::int64_t user = 1; user <= 20; ++user) {
      for (VoucherId id = 1; id <= kLanesMax; ++id) {
        ASSERT_EQ(sale_->buy(id, user).outcome, Outcome::kAccepted);
      }
    }
  });
}

TEST_F(ClusterLanesTest, RequestsForSplitVoucherAreSpreadOverMasters) {
  constexpr std::int64_t kUsers = 40'000;
  open({.lanes = kLanesMax});
  publish({.id = 1, .stock = 2 * kUsers, .lanes = kLanesMax});
  std::vector<BuyRequest> requests;
  for (std::int64_t user = 1; user <= kUsers; ++user)
    requests.push_back({.voucher = 1, .user = user});
  expect_spread_evenly([&] {
    for (const BuyResult& result : sale_->buy_all(requests)) {
      ASSERT_EQ(result.outcome, Outcome::kAccepted);
    }
  });
}

TEST_F(ClusterLanesTest, NewConnectionComparesLanesOfItsNodeAlone) {
  open({.lanes = 4});
  for (VoucherId id = 4; id < 8; ++id) publish(id, 5);
  const auto before = epochs();
  RedisServer& node = master_of(sale_->lanes()[1]);
  const std::uint64_t connects = backend_->counters().connects;
  ask(node, Request::of("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"));
  wait_until([&] { return backend_->counters().connects > connects; });
  for (VoucherId id = 4; id < 8; ++id) {
    EXPECT_EQ(sale_->buy(id, 1).outcome, Outcome::kAccepted);
  }
  const auto after = epochs();
  for (const SaleLane& lane : sale_->lanes()) {
    const auto number = static_cast<std::size_t>(lane.number);
    EXPECT_EQ(after.at(number) > before.at(number), &master_of(lane) == &node) << lane.number;
  }
}

TEST_F(ClusterLanesTest, HungMasterDelaysNoIdsOfOtherLanes) {
  const auto set_node_timeout = [](std::int64_t timeout_ms) {
    for (std::size_t i = 0; i < cluster().nodes(); ++i) {
      ask(cluster().node(i), Request::of("CONFIG", "SET", "cluster-node-timeout", timeout_ms));
    }
  };
  set_node_timeout(1'000'000);  // the cluster is as patient as the client
  const absl::Cleanup restore = [&] { set_node_timeout(RedisCluster::kNodeTimeoutMs); };

  RedisServer* hung = nullptr;
  std::string looked_at;
  std::atomic<bool> is_ready = false;  // both are set
  std::atomic<bool> is_paused = false;
  std::atomic<bool> has_replied = false;
  std::promise<void> paused;
  const auto is_look = [&](const Request& request) {
    return is_ready && request[0] == "HGETALL" && request[1] == looked_at;
  };
  const auto pause_once = [&](const Request& request) {
    if (!is_look(request) || is_paused.exchange(true)) return;
    hung->pause();
    paused.set_value();
  };
  const auto note_reply = [&](const Request& request, const Reply& /*reply*/) {
    if (is_paused && is_look(request)) has_replied = true;
  };
  const auto patient =
      RedisBackend::open(*RedisOptions::from_url(cluster().url() + "?command_timeout_ms=60000"));
  ASSERT_TRUE(patient.ok()) << patient.status();
  HookedBackend backend(**patient, {.before = pause_once, .after = note_reply});
  auto sale = Sale::open(backend, orders_, {.id_block_size = 1}).value();

  constexpr VoucherId kWithList = 100;
  ASSERT_TRUE(sale->publish({.id = kWithList,
                             .stock = kLanesOnCluster,
                             .end_ms = kForEverMs,
                             .waiting_max = kLanesOnCluster,
                             .lanes = kLanesOnCluster})
                  .ok());
  std::vector<VoucherId> others;
  hung = &master_of(sale->lanes()[1]);
  for (VoucherId id = 1; id <= kLanesOnCluster; ++id) {
    ASSERT_TRUE(sale->publish({.id = id, .stock = 100, .end_ms = kForEverMs}).ok());
    if (&master_of(sale->lane_of(id).value()) != hung) others.push_back(id);
  }
  const auto buy_all = [&](std::int64_t user) {
    for (const VoucherId id : others) ASSERT_EQ(sale->buy(id, user).outcome, Outcome::kAccepted);
  };
  buy_all(1);  // all masters know the scripts
  looked_at = sale->lanes()[1].keys.voucher(kWithList);
  is_ready = true;
  paused.get_future().wait();  // by the timer that serves the waiting lists
  for (std::int64_t user = 2; user <= 20; ++user) buy_all(user);
  EXPECT_FALSE(has_replied) << "they waited for the hung master";
  auto closed = std::async(std::launch::async, [&] { sale.reset(); });
  hung->resume();
}

/// A sale on a cluster one of whose masters dies.
class LostMasterTest : public ClusterLanesTest {
 protected:
  static constexpr int kVouchers = kLanesOnCluster;  // one on each lane

  std::unique_ptr<FlashSale> open_sale() {
    FlashSaleOptions options;
    options.worker.pause_ms_max = 100;
    auto sale =
        FlashSale::open(*RedisBackend::open(*RedisOptions::from_url(
                            cluster().url() + "?reconnect_max_ms=50&connect_timeout_ms=500")),
                        std::make_unique<faults::FaultyOrderStore>(orders_), options);
    EXPECT_TRUE(sale.ok()) << sale.status();
    return *std::move(sale);
  }
  static void publish_all(FlashSale& sale) {
    for (VoucherId id = 1; id <= kVouchers; ++id) {
      ASSERT_TRUE(sale.publish({.id = id, .stock = 10, .end_ms = kForEverMs}).ok());
    }
  }
  static bool says_try_again(const BuyResult& result) {
    return result.outcome == Outcome::kOverloaded || result.outcome == Outcome::kUnavailable;
  }
  /// Lets a user buy each voucher until it is decided. Vouchers of `without` must say "try again".
  static void buy_all(FlashSale& sale, std::int64_t user, const std::set<VoucherId>& without) {
    for (VoucherId id = 1; id <= kVouchers; ++id) {
      BuyResult result = sale.buy(id, user);
      if (without.contains(id)) {
        EXPECT_TRUE(says_try_again(result)) << id << ' ' << result.detail;
        continue;
      }
      // Nodes may take each other for dead for a moment.
      wait_until([&] {
        if (says_try_again(result)) result = sale.buy(id, user);
        return !says_try_again(result);
      });
      EXPECT_EQ(result.outcome, Outcome::kAccepted) << id << ' ' << result.detail;
    }
  }
};

TEST_F(LostMasterTest, OtherLanesSellOnAndItIsRebuilt) {
  auto sale = open_sale();
  publish_all(*sale);
  buy_all(*sale, 1, {});
  ASSERT_TRUE(sale->drain().ok());
  RedisServer& lost = master_of(sale->sale().lanes()[1]);
  std::set<VoucherId> closed;
  for (VoucherId id = 1; id <= kVouchers; ++id) {
    if (&master_of(sale->sale().lane_of(id).value()) == &lost) closed.insert(id);
  }
  const OrderId stored = sale->orders().list({.voucher = *closed.begin()}).value().at(0).id;
  lost.kill();
  buy_all(*sale, 2, closed);
  EXPECT_TRUE(sale->readiness().ok()) << sale->readiness();
  EXPECT_FALSE(sale->health().ok());
  EXPECT_EQ(sale->status(stored).value().location, OrderLocation::kStored);
  wait_until([&] {
    return std::ranges::all_of(sale->vouchers().value(), [&](const VoucherSummary& summary) {
      return summary.free.has_value() == !closed.contains(summary.voucher.id);
    });
  });
  const SaleStatistics statistics = sale->statistics();
  EXPECT_EQ(statistics.vouchers.size(), kVouchers);
  for (const VoucherSummary& summary : statistics.vouchers) {
    EXPECT_EQ(summary.free.has_value(), !closed.contains(summary.voucher.id));
  }
  const AuditReport partial = sale->audit().value();
  EXPECT_EQ(partial.problems.size(), closed.size());
  EXPECT_NE(partial.problems.at(0).find("was not audited"), std::string::npos);
  const AuditReport repaired = sale->sale().repair().value();
  EXPECT_EQ(repaired.problems.size(), 2 * closed.size());
  EXPECT_NE(repaired.problems.back().find("was not repaired"), std::string::npos);

  const auto opened_meanwhile = open_sale();
  buy_all(*opened_meanwhile, 3, closed);

  cluster().heal();  // it has no file: it is empty
  wait_until([&] {
    return std::ranges::all_of(closed, [&](VoucherId id) {
      const Outcome limit = Outcome::kLimitReached;
      return sale->buy(id, 1).outcome == limit && opened_meanwhile->buy(id, 1).outcome == limit;
    });
  });
  buy_all(*sale, 4, {});
  buy_all(*opened_meanwhile, 5, {});
  ASSERT_TRUE(sale->drain().ok());
  const AuditReport report = sale->audit().value();
  EXPECT_TRUE(report.passed()) << ::testing::PrintToString(report.problems);
}

}  // namespace
}  // namespace rushgate
