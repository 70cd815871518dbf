// A sale with lanes on a Redis Cluster, sold and paid by several processes while masters are killed, stop,
// change places, lose their data, and slots move.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "engine/core/client/key_slot.h"
#include "engine/sale/split/piece_mover.h"
#include "tests/support/http_program.h"
#include "tests/support/program.h"
#include "tests/support/random.h"
#include "tests/support/redis_server/redis_cluster.h"
#include "tests/support/sweep.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/flash_sale.h>
#include <rushgate/payment_store.h>
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

using testing::HttpConnection;
using testing::HttpProgram;
using testing::HttpReply;
using testing::Random;
using testing::RedisCluster;
using testing::RedisServer;

enum class Strike : std::uint8_t {
  kKill,    // of a master
  kPause,   // of a master, which continues once it is replaced
  kManual,  // failover without any fault
  kMove,    // of a lane's slot to another master, while it is sold from
  kEmpty,   // a restart of a master without its data, before its replica takes over
};

constexpr Strike kStrikes[] = {Strike::kKill, Strike::kPause, Strike::kManual, Strike::kMove,
                               Strike::kEmpty};
constexpr const char* kStrikeNames[] = {"kill", "pause", "manual", "move", "empty"};

const char* name_of(Strike strike) { return kStrikeNames[static_cast<std::size_t>(strike)]; }

class ClusterHostsTest : public ::testing::Test {
 protected:
  using Clock = std::chrono::steady_clock;
  static constexpr int kVouchers = kLanesOnCluster;  // one on each lane
  static constexpr int kStock = 60;                  // of each
  static constexpr int kSplitEvery = 4;              // every fourth voucher is on all lanes instead
  static constexpr int kHosts = 2;                   // with a seller and a worker each
  static constexpr int kBuyers = 4;                  // threads

  void SetUp() override {
    cluster().heal();
    cluster().flush_all();
  }

  static RedisCluster& cluster() {
    static RedisCluster shared;
    return shared;
  }

  /// Sells everything, strikes meanwhile, and compares what buyers were told with what is stored.
  void sell_out(std::span<const Strike> strikes, bool confirms) {
    keyspace_ = cluster().url() + "?reconnect_max_ms=50&command_timeout_ms=1000&sync_replicas=1";
    if (confirms) keyspace_ += "&confirm_replicas=1&confirm_ms=500";
    start();
    std::vector<std::jthread> buyers;  // joined, also if a fault throws
    for (int i = 0; i < kBuyers; ++i) buyers.emplace_back([this, i] { buy_everything(i); });
    const auto share = kVouchers * kStock / (static_cast<std::int64_t>(strikes.size()) + 1);
    std::int64_t wanted = 0;
    for (const Strike strike : strikes) {
      wanted += random_.between(share / 4, share);
      wait_for_accepted(wanted);
      SCOPED_TRACE(name_of(strike));
      strike_once(strike);
    }
    buyers.clear();
    // What was sold out may have been lost since. Sellers repeat for a while that a split voucher is.
    sold_out_counts_from_ = Clock::now() + std::chrono::milliseconds(PieceMover::kSoldOutMs);
    buy_everything(kBuyers);
    compare(confirms);
  }

 private:
  [[nodiscard]] std::vector<std::string> command(std::vector<std::string> words) const {
    words.insert(words.end(), {"--keyspace", keyspace_, "--orders", orders_});
    return words;
  }

  void start() {
    std::ofstream vouchers(files_.vouchers());
    for (int id = 1; id <= kVouchers; ++id) {
      vouchers << (id == 1 ? '[' : ',') << "{\"id\": " << id << ", \"stock\": " << kStock
               << ", \"lanes\": " << (id % kSplitEvery == 0 ? kLanesOnCluster : 1)
               << R"(, "begin_ms": 0, "end_ms": "2999-01-01", "price_cents": 100, )"
               << R"("payment_ms": 600000})";
    }
    vouchers << ']';
    vouchers.close();
    const auto published = run_program(command({"publish", files_.vouchers()}));
    ASSERT_EQ(published.exit_code, kExitOk) << published.err;
    for (int i = 0; i < kHosts; ++i) {
      sellers_.push_back(std::make_unique<HttpProgram>(command({})));
      workers_.push_back(std::make_unique<Program>(command({"work"})));
    }
  }

  // ---- Faults ----

  void wait_for_accepted(std::int64_t wanted) {
    while (accepted_count_ < wanted && sold_out_buyers_ < kBuyers) std::this_thread::yield();
  }

  void strike_once(Strike strike) {
    const int lane = static_cast<int>(random_.below(kLanesOnCluster));
    const int slot = key_slot(SaleKeys{}.of_lane(lane).order_stream);
    RedisServer& old = cluster().owner(slot);
    switch (strike) {
      case Strike::kKill:
        old.kill();
        cluster().wait_for_other_owner(slot, old);
        break;
      case Strike::kPause:
        old.pause();
        cluster().wait_for_other_owner(slot, old);
        old.resume();
        break;
      case Strike::kManual:
        cluster().fail_over(old);
        break;
      case Strike::kMove: {
        RedisServer& other = cluster().master_beside(old);
        cluster().begin_move(slot, old, other);
        cluster().end_move(slot, old, other);  // key by key: meanwhile the lane sells nothing
        break;
      }
      case Strike::kEmpty:
        old.restart();
        break;
    }
    cluster().heal();
  }

  // ---- Buyers ----

  /// Lets new users buy until every voucher is sold out. Pays for some of the orders.
  void buy_everything(int buyer) {
    Random random(seed_ + static_cast<std::uint64_t>(buyer) + 1);
    std::vector<int> left(kVouchers);
    for (int id = 1; id <= kVouchers; ++id) left[static_cast<std::size_t>(id - 1)] = id;
    while (!left.empty() && !HasFailure()) {
      const std::size_t which = random.below(left.size());
      const std::string user = std::to_string(++next_user_);
      const std::string order = buy(left[which], user);
      if (order.empty()) {
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(which));
      } else if (random.below(2) == 0) {
        pay(order);
      }
    }
    ++sold_out_buyers_;
  }

  /// Repeats a request until it is decided. Returns a reply other than "try again".
  HttpReply decided(const std::string& target, const std::string& body, const std::string& fields) {
    const auto deadline = Clock::now() + std::chrono::seconds(60);
    for (std::size_t i = 0;; ++i) {
      HttpReply reply =
          HttpConnection(sellers_[i % sellers_.size()]->port()).call("POST", target, body, fields);
      if (reply.status != 503 && reply.status != 504) return reply;
      if (Clock::now() > deadline) {
        ADD_FAILURE() << "not decided: " << reply.body;
        return reply;
      }
      std::this_thread::yield();
    }
  }

  /// Returns the order; empty if the voucher is sold out.
  std::string buy(int voucher, const std::string& user) {
    HttpReply reply;
    do {
      reply = decided("/v1/vouchers/" + std::to_string(voucher) + "/orders",
                      "{\"user\": " + user + "}", "Idempotency-Key: key-" + user + "\r\n");
    } while (reply.problem() == "sold-out" && Clock::now() < sold_out_counts_from_);
    if (reply.problem() == "sold-out") return {};
    EXPECT_TRUE(reply.status == 201 || reply.status == 200) << reply.body;
    if (HasFailure()) return {};
    std::string order = reply.json()["order"];
    const std::lock_guard lock(mutex_);
    accepted_.insert(std::stoll(order));
    ++accepted_count_;
    return order;
  }

  /// The keyspace may have lost the order meanwhile.
  void pay(const std::string& order) {
    const HttpReply reply = decided("/v1/orders/" + order + "/payments",
                                    R"({"payment": "p)" + order + R"(", "amount_cents": 100})", "");
    if (reply.status != 200 && reply.status != 201) return;
    const std::lock_guard lock(mutex_);
    paid_.insert(std::stoll(order));
  }

  // ---- The end ----

  /// If a failover lost an order whose payment a worker had read already, the payment is a dead letter.
  /// As an operator would, pays it back.
  static void pay_back_lost_orders(FlashSale& sale, bool confirms) {
    const auto letters = sale.sale().dead_letters();
    ASSERT_TRUE(letters.ok()) << letters.status();
    for (const DeadLetter& letter : *letters) {
      const auto event = letter.order.field("event");
      // An order whose stock was sold again, or whose buyer, who was not told of it, has ordered again.
      if (!event) continue;
      EXPECT_FALSE(confirms) << letter.reason;
      EXPECT_EQ(event, "surplus payment") << letter.reason;
      const auto order = letter.order.field("id");
      ASSERT_TRUE(order.has_value());
      const auto stored = sale.orders().find(std::stoll(std::string(*order)));
      ASSERT_TRUE(stored.ok()) << stored.status();
      EXPECT_FALSE(stored->has_value()) << *order << ": " << letter.reason;
      EXPECT_TRUE(*sale.sale().discard_dead_letter(letter.id, "paid back"));
    }
  }

  void compare(bool confirms) {
    FlashSaleOptions options;
    options.orders = orders_;
    const auto opened = FlashSale::open(keyspace_, options);
    ASSERT_TRUE(opened.ok()) << opened.status();
    const auto& sale = *opened;
    const absl::Status drained = sale->drain();
    EXPECT_TRUE(drained.ok()) << drained;
    pay_back_lost_orders(*sale, confirms);
    const auto report = sale->audit();
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
    std::map<VoucherId, int> sold;
    std::set<OrderId> stored;
    EXPECT_TRUE(for_each_order(sale->orders(), {}, [&](const Order& order) {
                  ++sold[order.voucher];
                  stored.insert(order.id);
                }).ok());
    for (VoucherId id = 1; id <= kVouchers; ++id) EXPECT_EQ(sold[id], kStock) << id;
    std::set<OrderId> paid;
    EXPECT_TRUE(for_each_payment(*sale->orders().payments(), {}, [&](const Payment& payment) {
                  paid.insert(payment.order);
                }).ok());
    const auto missing = [](const std::set<OrderId>& told, const std::set<OrderId>& kept) {
      return std::ranges::count_if(told, [&](OrderId order) { return !kept.contains(order); });
    };
    const auto lost = missing(accepted_, stored);
    std::cout << lost << " of " << accepted_.size() << " accepted orders lost, "
              << missing(paid_, paid) << " of " << paid_.size() << " payments\n";
    if (confirms) {
      EXPECT_EQ(lost, 0);
    }
  }

 protected:
  const std::uint64_t seed_ = random_seed();
  Random random_{seed_};

 private:
  const ::testing::ScopedTrace trace_{__FILE__, __LINE__, seed_text(seed_)};
  const TemporaryDirectory directory_;
  const std::string orders_ = "sqlite:" + (directory_.path() / "orders.db").string();
  std::string keyspace_;
  const SaleFiles files_ = {};
  std::vector<std::unique_ptr<HttpProgram>> sellers_;
  std::vector<std::unique_ptr<Program>> workers_;
  std::atomic<std::int64_t> next_user_ = 0;
  std::atomic<std::int64_t> accepted_count_ = 0;
  std::atomic<int> sold_out_buyers_ = 0;
  Clock::time_point sold_out_counts_from_ = {};
  std::mutex mutex_;
  std::set<OrderId> accepted_;  // guarded by mutex_
  std::set<OrderId> paid_;      // guarded by mutex_
};

/// 100 runs in a full run, 2 otherwise.
class ClusterHostsRunTest : public ClusterHostsTest, public ::testing::WithParamInterface<int> {
 protected:
  std::vector<Strike> draw(std::size_t kinds, std::size_t count) {
    std::vector<Strike> strikes(std::begin(kStrikes), std::begin(kStrikes) + kinds);
    random_.shuffle(strikes);
    strikes.resize(count);
    for (const Strike strike : strikes) std::cout << name_of(strike) << ' ';
    return strikes;
  }
};

TEST_P(ClusterHostsRunTest, FaultsOfMastersOversellNothing) {
  sell_out(draw(std::size(kStrikes), 3), /*confirms=*/false);
}

TEST_P(ClusterHostsRunTest, ConfirmedOrdersSurviveFailovers) {
  sell_out(draw(std::size(kStrikes) - 1, 2), /*confirms=*/true);
}

INSTANTIATE_TEST_SUITE_P(Runs, ClusterHostsRunTest,
                         ::testing::Range(0, testing::is_full_run() ? 50 : 1));

}  // namespace
}  // namespace rushgate
