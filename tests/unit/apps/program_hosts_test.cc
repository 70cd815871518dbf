// A sale of processes as on several hosts: they share a Redis and a database server by their URLs, and no
// directory. Sellers, workers and operators are killed at moments from a seed, and the sale is
// moved to another Redis.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/database_server/mariadb_server.h"
#include "tests/support/database_server/postgresql_server.h"
#include "tests/support/http_program.h"
#include "tests/support/redis_server/redis_server.h"
#include "tests/support/redis_server/sentinel_group.h"
#include "tests/support/sweep.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

using testing::HttpConnection;
using testing::HttpProgram;
using testing::HttpReply;
using testing::RedisServer;

enum class Database : std::uint8_t { kPostgresql, kMariadb };

std::string make_database(Database database) {
  return database == Database::kPostgresql ? testing::PostgresqlServer::of_program().make_database()
                                           : testing::MariadbServer::of_program().make_database();
}

class HostsTest : public ::testing::TestWithParam<Database> {
 protected:
  static constexpr std::size_t kSellers = 2;
  static constexpr std::size_t kWorkers = 2;

  void start() {
    publish(1'000'000);
    for (std::size_t i = 0; i < kSellers; ++i) sellers_.push_back(seller());
    for (std::size_t i = 0; i < kWorkers; ++i) workers_.push_back(worker());
  }

  [[nodiscard]] std::vector<std::string> command(std::vector<std::string> words) const {
    words.insert(words.end(), {"--keyspace", redis_->url(), "--orders", orders_});
    return words;
  }
  /// Publishes the voucher with this stock. It has no limit per user: an order that is doubled is one more.
  void publish(int stock) {
    std::ofstream(files_.vouchers())
        << R"([{"id": 1, "begin_ms": 0, "end_ms": "2999-01-01", "limits": {"per_user": 0}, "stock": )"
        << stock << "}]";
    const auto published = run_program(command({"publish", files_.vouchers()}));
    ASSERT_EQ(published.exit_code, kExitOk) << published.err;
  }
  [[nodiscard]] std::unique_ptr<HttpProgram> seller() const {
    return std::make_unique<HttpProgram>(command({}));
  }
  [[nodiscard]] std::unique_ptr<Program> worker() const {
    return std::make_unique<Program>(command({"work"}));
  }

  /// Lets some users buy, each at one of the sellers. What got no reply is repeated later, at any of them.
  void buy_some() {
    constexpr int kUsers = 10;
    for (int i = 0; i < kUsers; ++i) orders_of_[next_user_++];
    for (auto& [user, order] : orders_of_) {
      if (order.empty()) order = buy(user);
    }
  }
  std::string buy(int user) {
    try {
      const std::string text = std::to_string(user);
      const HttpReply reply = HttpConnection(sellers_[buyers_random_() % sellers_.size()]->port())
                                  .call("POST", "/v1/vouchers/1/orders", "{\"user\": " + text + "}",
                                        "Idempotency-Key: key-" + text + "\r\n");
      if (reply.status == 503 || reply.status == 504) return "";
      EXPECT_TRUE(reply.status == 201 || reply.status == 200) << reply.body;
      return reply.json()["order"];
    } catch (const std::runtime_error&) {
      return "";  // this seller is gone
    }
  }

  void sleep_up_to(unsigned ms) {
    std::this_thread::sleep_for(std::chrono::microseconds(random_() % (ms * 1'000)));
  }

  /// Kills a process of the sale, and starts one in its place.
  void kill_one() {
    const std::size_t which = random_() % (kSellers + kWorkers + 1);
    std::thread meanwhile([&] { buy_some(); });
    sleep_up_to(30);
    if (which < kSellers) {
      sellers_[which]->program().send(SIGKILL);
    } else if (which < kSellers + kWorkers) {
      workers_[which - kSellers]->send(SIGKILL);
    } else {
      const Program operator_process(random_() % 2 == 0 ? command({"audit", "--repair"})
                                                        : command({"publish", files_.vouchers()}));
      sleep_up_to(200);  // its destructor kills it
    }
    meanwhile.join();
    replace(which);
  }

  /// Starts a process in the place of one that ended.
  void replace(std::size_t which) {
    if (which < kSellers) {
      sellers_[which] = seller();
    } else if (which < kSellers + kWorkers) {
      workers_[which - kSellers] = worker();
    }
  }

  /// Makes pending entries so old that another worker takes them over.
  void age_pending_entries() {
    const Reply pending =
        testing::ask(*redis_, Request::of("XPENDING", "stream.orders", "g1", "-", "+", 100'000));
    for (const Reply& entry : pending.elements()) {
      testing::ask(*redis_,
                   Request::of("XCLAIM", "stream.orders", "g1", entry.elements()[1].text(), 0,
                               entry.elements()[0].text(), "IDLE", 3'600'000, "JUSTID"));
    }
  }

  /// Ends everything, and expects each accepted order once.
  void complete() {
    for (auto& [user, order] : orders_of_) {
      while (order.empty()) order = buy(user);
    }
    sellers_.clear();
    for (const auto& one : workers_) one->send(SIGTERM);
    workers_.clear();
    age_pending_entries();
    const Program last(command({"work"}));
    std::map<std::string, int> stored;
    while (stored.size() < orders_of_.size()) {
      stored.clear();
      const auto list = run_program(command({"export", "--what", "orders", "--format", "json"}));
      for (const auto& order : list.json()) ++stored[order["order"]];
    }
    EXPECT_EQ(stored.size(), orders_of_.size());
    for (const auto& [user, order] : orders_of_) EXPECT_EQ(stored[order], 1) << order;
    const auto audit = run_program(command({"audit"}));
    EXPECT_EQ(audit.exit_code, kExitOk) << audit.out << audit.err;
  }

  const std::uint64_t seed_ = random_seed();
  const ::testing::ScopedTrace trace_{__FILE__, __LINE__, seed_text(seed_)};
  std::mt19937_64 random_{seed_};
  std::mt19937_64 buyers_random_{seed_};  // of the buyers' thread
  const std::string orders_ = make_database(GetParam());
  std::unique_ptr<RedisServer> redis_ =
      std::make_unique<RedisServer>(testing::RedisServerOptions{.append_only = true});
  const SaleFiles files_ = {};
  std::vector<std::unique_ptr<HttpProgram>> sellers_;
  std::vector<std::unique_ptr<Program>> workers_;
  std::map<int, std::string> orders_of_;  // by user; empty: none was acknowledged
  int next_user_ = 1;
};

INSTANTIATE_TEST_SUITE_P(Databases, HostsTest,
                         ::testing::Values(Database::kPostgresql, Database::kMariadb),
                         [](const ::testing::TestParamInfo<Database>& database) {
                           return database.param == Database::kPostgresql ? "Postgresql"
                                                                          : "Mariadb";
                         });

TEST_P(HostsTest, KilledProcessesLoseAndDoubleNothing) {
  start();
  const int kills = testing::is_full_run() ? 200 : 8;
  for (int i = 0; i < kills && !HasFailure(); ++i) kill_one();
  complete();
}

/// RUSHGATE_OLD_PROGRAM names the program of the version before. Without it, all are of this version.
TEST_P(HostsTest, ProcessesAreUpgradedOneByOne) {
  const char* const old_program = std::getenv("RUSHGATE_OLD_PROGRAM");
  {
    const OtherProgram before(old_program != nullptr ? old_program : RUSHGATE_PROGRAM);
    start();
  }
  std::vector<std::size_t> order = {0, 1, 2, 3};
  static_assert(kSellers + kWorkers == 4);
  std::shuffle(order.begin(), order.end(), random_);
  for (const std::size_t which : order) {
    buy_some();
    const bool is_killed = random_() % 2 == 0;
    const auto end = [&](Program& program) {
      program.send(is_killed ? SIGKILL : SIGTERM);
      program.wait();
    };
    std::thread meanwhile([&] { buy_some(); });
    end(which < kSellers ? sellers_[which]->program() : *workers_[which - kSellers]);
    meanwhile.join();
    replace(which);
  }
  buy_some();
  complete();
}

TEST_P(HostsTest, SaleMovesWhileOthersSell) {
  start();
  buy_some();
  auto target = std::make_unique<RedisServer>(testing::RedisServerOptions{.append_only = true});
  std::vector<std::string> move = command({"move", "--to", target->url()});
  std::thread meanwhile([&] { buy_some(); });
  {
    const Program killed(move);
    sleep_up_to(150);
  }
  const auto moved = run_program(move);
  EXPECT_EQ(moved.exit_code, kExitOk) << moved.err;
  meanwhile.join();
  EXPECT_THAT(HttpConnection(sellers_[0]->port())
                  .call("POST", "/v1/vouchers/1/orders", R"({"user": 5000})")
                  .body,
              ::testing::HasSubstr("the sale was moved to " + target->url()));
  redis_.swap(target);  // the old one keeps running
  for (auto& one : sellers_) one = seller();
  for (auto& one : workers_) one = worker();
  buy_some();
  complete();
}

}  // namespace
}  // namespace rushgate
