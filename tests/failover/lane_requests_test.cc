// How many commands a redis-server executes for a sale with lanes, by its own count, and on which keys.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/core/base/concat.h"
#include "tests/support/hooked_backend.h"
#include "tests/support/redis_server/lent_redis_server.h"
#include "tests/support/redis_server/raw_connection.h"
#include <rushgate/memory_order_store.h>
#include <rushgate/order_rules.h>
#include <rushgate/order_worker.h>
#include <rushgate/redis_backend.h>
#include <rushgate/sale.h>

namespace rushgate {
namespace {

using testing::LentRedisServer;
using testing::RawConnection;

constexpr int kNumbersOfLanes[] = {1, 4, 16, kLanesMax};
constexpr std::int64_t kDayMs = 86'400'000;

/// A new sale on a redis-server, in manual time: nothing happens by itself.
class LanesOnServer {
 public:
  explicit LanesOnServer(int lanes)
      : sale_(*Sale::open(backend_, orders_, {.lanes = lanes, .id_block_size = 100'000})) {
    for (const SaleLane& lane : sale_->lanes()) {
      workers_.push_back(std::make_unique<OrderWorker>(
          backend_, lane.stores, lane.keys,
          WorkerOptions{.consumer = "c1", .batch_max = kOrdersInBatch}));
    }
  }

  static constexpr int kOrdersInBatch = 10;

  [[nodiscard]] Sale& sale() { return *sale_; }
  [[nodiscard]] int lanes() const { return static_cast<int>(workers_.size()); }
  void publish(Voucher voucher) {
    voucher.end_ms = clock_.now_ms() + kDayMs;
    must(sale_->publish(voucher));
  }
  OrderId buy(VoucherId id, std::int64_t user, std::string_view key = {}) {
    const BuyResult result = sale_->buy(id, user, key);
    if (result.outcome != Outcome::kAccepted) throw std::runtime_error(result.detail);
    return result.order;
  }
  /// Lets the worker of a lane store one batch. Returns the number of its orders.
  std::size_t store(int lane) { return workers_[static_cast<std::size_t>(lane)]->step().stored; }

  /// Returns how many commands the server has executed since the last call, in scripts and outside.
  std::int64_t take_commands() {
    std::istringstream stats(ask("INFO", "commandstats"));
    ask("CONFIG", "RESETSTAT");
    std::int64_t commands = 0;
    for (std::string line; std::getline(stats, line);) {
      constexpr std::string_view kCalls = ":calls=";
      const std::size_t calls = line.find(kCalls);
      if (calls == std::string::npos || line.starts_with("cmdstat_config|resetstat")) continue;
      commands += std::stoll(line.substr(calls + kCalls.size()));
    }
    return commands;
  }
  /// Returns the keys of all commands that `acts` makes the server execute, in scripts and outside.
  template <class Acts>
  std::set<std::string> keys_touched_by(Acts acts) {
    RawConnection monitor(server_->socket_path());
    monitor.call(Request::of("MONITOR"));
    acts();
    monitor.send(Request::of("PING", "end"));
    std::set<std::string> keys;
    for (std::string line = monitor.receive(); !line.starts_with('$'); line = monitor.receive()) {
      Request get_keys = Request::of("COMMAND", "GETKEYS");
      for (const std::string& word : words_of(line)) get_keys.add(word);
      const Reply found = connection_.call(get_keys);
      if (!found.is_aggregate()) continue;  // it has none
      for (const Reply& key : found.elements()) keys.emplace(key.text());
    }
    return keys;
  }

 private:
  static void must(const absl::Status& status) {
    if (!status.ok()) throw std::runtime_error(status.ToString());
  }
  template <class... Words>
  std::string ask(Words... words) {
    return std::string(connection_.call(Request::of(words...)).text());
  }
  /// Returns the words of a line of MONITOR: +1700000000.1 [0 lua] "GET" "key"
  static std::vector<std::string> words_of(const std::string& line) {
    std::vector<std::string> words;
    bool is_inside = false;
    for (std::size_t i = line.find(']'); i < line.size(); ++i) {
      if (line[i] == '"') {
        is_inside = !is_inside;
        if (is_inside) words.emplace_back();
      } else if (is_inside) {
        words.back() += line[i] == '\\' ? line[++i] : line[i];
      }
    }
    return words;
  }

  LentRedisServer server_{LentRedisServer::Time::kManual};
  RawConnection connection_{server_->socket_path()};
  ManualClock clock_;
  MemoryOrderStore orders_;
  const std::unique_ptr<RedisBackend> redis_ =
      *RedisBackend::open(*RedisOptions::from_url(server_->url()));
  OneThreadBackend backend_{*redis_, clock_};
  const std::unique_ptr<Sale> sale_;
  std::vector<std::unique_ptr<OrderWorker>> workers_;
};

TEST(LaneRequestsTest, CommandsOfPurchaseDoNotGrowWithLanes) {
  constexpr std::int64_t kUsers = 5;
  constexpr VoucherId kSplit = 1'000;
  std::set<std::int64_t> counts;
  for (const int lanes : kNumbersOfLanes) {
    LanesOnServer server(lanes);
    for (VoucherId id = 1; id <= kLanesMax; ++id) {
      server.publish({.id = id, .stock = 100});
      server.buy(id, 1);  // draws ids, and loads scripts
    }
    server.publish({.id = kSplit, .stock = 100 * kLanesMax, .lanes = lanes});
    server.take_commands();
    for (std::int64_t user = 2; user < 2 + kUsers; ++user) {
      for (VoucherId id = 1; id <= kLanesMax; ++id) server.buy(id, user);
    }
    counts.insert(server.take_commands());
    for (std::int64_t user = 1; user <= kUsers * kLanesMax; ++user) server.buy(kSplit, user);
    counts.insert(server.take_commands());
  }
  // EVALSHA, and the commands of its script: HMGET, GET, SISMEMBER, TIME, XADD, DECRBY, SADD.
  EXPECT_EQ(counts, std::set<std::int64_t>{8 * kUsers * kLanesMax});
}

TEST(LaneRequestsTest, CommandsOfBatchDoNotGrowWithLanes) {
  std::set<std::int64_t> counts;
  for (const int lanes : kNumbersOfLanes) {
    LanesOnServer server(lanes);
    for (VoucherId id = 0; id < kLanesMax; ++id) server.publish({.id = id + 1, .stock = 100});
    for (int lane = 0; lane < lanes; ++lane) EXPECT_EQ(server.store(lane), 0);  // begins to work
    for (std::int64_t user = 1; user <= LanesOnServer::kOrdersInBatch; ++user) {
      for (VoucherId id = 0; id < kLanesMax; ++id) server.buy(id + 1, user);
    }
    server.take_commands();
    for (int batch = 0; batch < kLanesMax; ++batch) {
      EXPECT_EQ(server.store(batch % lanes), LanesOnServer::kOrdersInBatch);
    }
    counts.insert(server.take_commands());
  }
  EXPECT_EQ(counts.size(), 1) << ::testing::PrintToString(counts);
}

TEST(LaneRequestsTest, NoKeyIsTouchedByTwoLanes) {
  constexpr int kLanes = 16;
  constexpr VoucherId kSplit = 1'000;
  LanesOnServer server(kLanes);
  for (VoucherId id = kLanes; id < 2 * kLanes; ++id) {
    server.publish({.id = id, .stock = 100, .price_cents = 100, .payment_ms = kDayMs});
  }
  server.publish({.id = kSplit, .stock = 100 * kLanes, .lanes = kLanes});
  std::set<std::string> all;
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto keys = server.keys_touched_by([&] {
      const VoucherId id = kLanes + lane;
      ASSERT_EQ(lane_of_order(server.buy(id, 1, "click")), lane);
      const OrderId paid = server.buy(id, 2);
      EXPECT_EQ(server.sale()
                    .pay({.order = paid, .payment = concat("pay-", lane), .amount_cents = 100})
                    .outcome,
                ChangeOutcome::kDone);
      EXPECT_EQ(server.sale().cancel(server.buy(id, 3), "", "user").outcome, ChangeOutcome::kDone);
      std::int64_t user = 1;
      while (lane_of_user(user, kLanes) != lane) ++user;
      server.buy(kSplit, user);
      EXPECT_GT(server.store(lane), 0);
    });
    EXPECT_GT(keys.size(), 8);
    for (const std::string& key : keys) {
      EXPECT_TRUE(all.insert(key).second) << key << " is also of the lane " << lane;
    }
  }
}

/// Sells a voucher on 16 lanes up to the last 1 % of its stock. Returns the share of the commands that
/// moved pieces, in percent.
double percent_of_moves(std::int64_t stock) {
  constexpr int kLanes = 16;
  constexpr std::int64_t kCommandsOfPurchase = 8;
  const std::int64_t most = stock - stock / 100;
  LanesOnServer server(kLanes);
  server.publish({.id = 1, .stock = stock, .lanes = kLanes});
  server.take_commands();
  for (std::int64_t user = 1; user <= most; ++user) server.buy(1, user);
  const std::int64_t all = server.take_commands();
  for (std::int64_t user = most + 1; user <= stock; ++user) server.buy(1, user);
  EXPECT_EQ(server.sale().buy(1, stock + 1).outcome, Outcome::kSoldOut);
  return 100.0 * static_cast<double>(all - most * kCommandsOfPurchase) / static_cast<double>(all);
}

TEST(LaneRequestsTest, MovesAreFewCommandsUntilLastHundredth) {
  const double with_hundred_pieces_per_lane = percent_of_moves(1'600);
  EXPECT_GT(with_hundred_pieces_per_lane, 1);
  EXPECT_LT(with_hundred_pieces_per_lane, 10);
  EXPECT_LT(percent_of_moves(10'000), 1);
}

}  // namespace
}  // namespace rushgate
