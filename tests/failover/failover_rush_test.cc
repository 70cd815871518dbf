// Sells while real sentinels, or the nodes of a cluster, replace the master of the keyspace.
// Nothing is oversold, and no order is stored twice.
#include <atomic>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "engine/core/client/key_slot.h"
#include "tests/crash/losses/shop.h"
#include "tests/support/random.h"
#include "tests/support/redis_server/redis_cluster.h"
#include "tests/support/redis_server/redis_server.h"
#include "tests/support/redis_server/sentinel_group.h"
#include "tests/support/sweep.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/memory_order_store.h>
#include <rushgate/random_seed.h>
#include <rushgate/redis_backend.h>
#include <rushgate/sqlite_order_store.h>

namespace rushgate {
namespace {

using losses::Shop;
using testing::Random;
using testing::RedisCluster;
using testing::RedisServer;
using testing::RedisServerOptions;
using testing::SentinelGroup;

enum class Fault : std::uint8_t {
  kKill,       // of the master
  kPause,      // of the master, which continues once it is replaced
  kPartition,  // the same while a sentinel knows of nothing: it is paused with the master
  kManual,     // failover without any fault
};

constexpr Fault kFaults[] = {Fault::kKill, Fault::kPause, Fault::kPartition, Fault::kManual};
constexpr const char* kFaultNames[] = {"kill", "pause", "partition", "manual"};

void strike(SentinelGroup& group, Fault fault) {
  RedisServer& old = group.master();
  switch (fault) {
    case Fault::kKill:
      old.kill();
      return group.wait_for_other_master(old);
    case Fault::kPause:
      old.pause();
      group.wait_for_other_master(old);
      return old.resume();
    case Fault::kPartition:
      group.sentinel(1).pause();
      old.pause();
      group.wait_for_other_master(old);
      old.resume();  // it still calls itself a master, and so does this sentinel
      return group.sentinel(1).resume();
    case Fault::kManual:
      return group.fail_over();
  }
}

std::set<OrderId> stored_orders(const std::filesystem::path& dir) {
  const auto orders = *SqliteOrderStore::open(dir / "orders.db");
  std::set<OrderId> stored;
  EXPECT_TRUE(for_each_order(*orders, {.voucher = 1}, [&](const Order& order) {
                stored.insert(order.id);
              }).ok());
  return stored;
}

struct SoldOut {
  std::int64_t accepted = 0;
  std::int64_t lost = 0;  // accepted orders that were not stored
};

/// Blocks until the sale has accepted this many orders.
using WaitForAccepted = std::function<void(std::int64_t)>;

/// Sells the whole stock on the Redis at `url` while `break_it` runs, stores it and checks it.
SoldOut sell_out(const std::string& url, std::int64_t stock,
                 const std::function<void(const WaitForAccepted&)>& break_it,
                 const SaleKeys& keys = {}) {
  const TemporaryDirectory directory;
  std::vector<OrderId> accepted;
  std::string problems;
  {
    Shop shop(directory.path(), url, stock, keys);
    std::atomic<std::int64_t> count = 0;
    std::atomic<bool> has_ended = false;
    std::exception_ptr failure;
    const auto note = [&](OrderId order) {
      accepted.push_back(order);
      ++count;
    };
    // The servers stay on this thread: they end with the thread that started them.
    std::thread buyers([&] {
      try {
        shop.sell(note);
      } catch (...) {
        failure = std::current_exception();
      }
      has_ended = true;
    });
    break_it([&](std::int64_t wanted) {
      while (count < wanted && !has_ended) std::this_thread::yield();
    });
    buyers.join();
    if (failure) std::rethrow_exception(failure);
    shop.sell(note);  // all may have been sold before the fault
    shop.drain();
    problems = shop.audit();
  }
  EXPECT_EQ(problems, "");
  const std::set<OrderId> stored = stored_orders(directory.path());
  EXPECT_EQ(static_cast<std::int64_t>(stored.size()), stock);
  SoldOut sold{.accepted = static_cast<std::int64_t>(accepted.size())};
  for (const OrderId order : accepted) sold.lost += stored.contains(order) ? 0 : 1;
  return sold;
}

/// A primary whose replica takes over at each failover, under the address of the first one.
class TakenOverServers {
 public:
  TakenOverServers() : first_(add()), primary_(&first_) { add_replica(); }

  [[nodiscard]] std::string url() const { return first_.url(); }

  void fail_over() {
    primary_->kill();
    replica_->promote();
    replica_->take_over_address_of(*primary_);
    primary_ = replica_;
    add_replica();
  }

 private:
  RedisServer& add() {
    return *all_.emplace_back(
        std::make_unique<RedisServer>(RedisServerOptions{.listens_on_tcp = true}));
  }
  void add_replica() {
    replica_ = &add();
    replica_->replicate(*primary_);
  }

  std::vector<std::unique_ptr<RedisServer>> all_;  // those that were killed keep their addresses
  RedisServer& first_;
  RedisServer* primary_;
  RedisServer* replica_ = nullptr;
};

TEST(ConfirmedRushTest, FailoversLoseNoAcceptedOrder) {
  constexpr int kFailoversOfSale = 4;
  constexpr std::int64_t kStock = 4'000;
  const int sales = testing::is_full_run() ? 50 : 1;
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::cout << seed_text(seed) << '\n';
  Random random(seed);
  for (int sale = 0; sale < sales; ++sale) {
    TakenOverServers servers;
    const SoldOut sold =
        sell_out(servers.url() + "?confirm_replicas=1&confirm_ms=50&sync_replicas=1", kStock,
                 [&](const WaitForAccepted& wait) {
                   std::int64_t accepted = 0;
                   for (int i = 0; i < kFailoversOfSale; ++i) {
                     accepted += random.between(1, kStock / kFailoversOfSale / 2);
                     wait(accepted);
                     servers.fail_over();
                   }
                 });
    EXPECT_GT(sold.accepted, 0);
    EXPECT_EQ(sold.lost, 0);
  }
}

TEST(FailoverRushTest, NothingIsOversold) {
  constexpr std::int64_t kStock = 20'000;
  const int runs = testing::is_full_run() ? 50 : 2;
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::cout << seed_text(seed) << '\n';
  Random random(seed);
  SentinelGroup group;
  auto which = random.below(std::size(kFaults));
  for (int run = 0; run < runs && !HasFailure(); ++run, which = (which + 1) % std::size(kFaults)) {
    SCOPED_TRACE(kFaultNames[which]);
    const SoldOut sold = sell_out(
        group.url() +
            "?sentinel_poll_ms=50&reconnect_max_ms=50&command_timeout_ms=1000&sync_replicas=1",
        kStock, [&](const WaitForAccepted& wait) {
          wait(random.between(1, kStock / 2));
          strike(group, kFaults[which]);
          group.heal();  // so that the last purchases are decided by the new master
        });
    std::cout << kFaultNames[which] << ": " << sold.lost << " of " << sold.accepted
              << " accepted orders lost\n";
    group.master().flush_all();
  }
}

// ---- A cluster ----------------------------------------------------------------------------------

enum class ClusterFault : std::uint8_t {
  kKill,    // of the sale's master
  kPause,   // of that master, which continues once it is replaced
  kManual,  // failover without any fault
  kMove,    // of the sale's slot to another master
};

constexpr ClusterFault kClusterFaults[] = {ClusterFault::kKill, ClusterFault::kMove,
                                           ClusterFault::kPause, ClusterFault::kManual};
constexpr const char* kClusterFaultNames[] = {"kill", "move", "pause", "manual"};

void strike(RedisCluster& cluster, int slot, ClusterFault fault) {
  RedisServer& old = cluster.owner(slot);
  switch (fault) {
    case ClusterFault::kKill:
      old.kill();
      return cluster.wait_for_other_owner(slot, old);
    case ClusterFault::kPause:
      old.pause();
      cluster.wait_for_other_owner(slot, old);
      return old.resume();
    case ClusterFault::kManual:
      return cluster.fail_over(old);
    case ClusterFault::kMove:
      RedisServer& other = cluster.master_beside(old);
      cluster.begin_move(slot, old, other);
      return cluster.end_move(slot, old, other);
  }
}

TEST(ClusterRushTest, NothingIsOversold) {
  constexpr std::int64_t kStock = 20'000;
  const SaleKeys keys{.prefix = "{shop}seckill:",
                      .id_prefix = "{shop}icr:order:",
                      .order_stream = "{shop}stream.orders"};
  const int slot = key_slot(keys.prefix);
  const int runs = testing::is_full_run() ? 50 : 2;
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::cout << seed_text(seed) << '\n';
  Random random(seed);
  RedisCluster cluster;
  for (int run = 0; run < runs && !HasFailure(); ++run) {
    const auto which = static_cast<std::size_t>(run) % std::size(kClusterFaults);
    SCOPED_TRACE(kClusterFaultNames[which]);
    const SoldOut sold = sell_out(
        cluster.url() + "?reconnect_max_ms=50&command_timeout_ms=1000&sync_replicas=1", kStock,
        [&](const WaitForAccepted& wait) {
          wait(random.between(1, kStock / 2));
          strike(cluster, slot, kClusterFaults[which]);
          cluster.heal();  // so that the last purchases are decided by the new master
        },
        keys);
    std::cout << kClusterFaultNames[which] << ": " << sold.lost << " of " << sold.accepted
              << " accepted orders lost\n";
    cluster.flush_all();
  }
}

TEST(ClusterRushTest, AdoptedKeysWithoutCommonTagAreRefused) {
  const RedisCluster cluster({.masters = 1, .replicas = 0});
  const auto backend = *RedisBackend::open(*RedisOptions::from_url(cluster.url()));
  MemoryOrderStore orders;
  const absl::Status refused = Sale::open(*backend, orders, {.adopt = true}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(std::string(refused.message()).find("need a common tag"), std::string::npos) << refused;
}

}  // namespace
}  // namespace rushgate
