// The service, or the redis-server of its keyspace, is killed at random moments. Its clients repeat
// what got no reply, by idempotency key, and read the changes of orders by position.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "adapters/flash_sale/json_text.h"
#include "tests/support/http_program.h"
#include "tests/support/redis_server/redis_server.h"
#include "tests/support/sweep.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

using testing::http_request;
using testing::HttpConnection;
using testing::HttpProgram;
using testing::HttpReply;
using Json = nlohmann::ordered_json;

/// What the clients of a sale know of it.
class Clients {
 public:
  /// Connects, and sends some requests on each connection: what got no reply before, then changes of
  /// accepted orders, then purchases of new users.
  void send(std::uint16_t port, bool buys_more = true) {
    sent_.clear();
    std::vector<int> users;
    for (const auto& [user, buyer] : buyers_) {
      if (!buyer.is_done(user) && users.size() < kConnections * kRequests) users.push_back(user);
    }
    while (buys_more && users.size() < kConnections * kRequests) users.push_back(next_user_++);
    for (std::size_t i = 0; i < users.size(); ++i) {
      if (i % kRequests == 0) sent_.emplace_back(port);
      Sent& sent = sent_.back();
      sent.users.push_back(users[i]);
      sent.connection.send(next_request(users[i]));
    }
    events_.emplace_back(port).send(http_request(
        "GET", "/v1/events", "", "Last-Event-ID: " + std::to_string(position_) + "\r\n"));
  }

  /// Reads the replies, as far as they come.
  void receive() {
    for (Sent& sent : sent_) {
      try {
        for (const int user : sent.users) note(user, sent.connection.receive());
      } catch (const std::runtime_error&) {  // the server is gone
      }
    }
    sent_.clear();
  }

  /// Reads the changes: until each acknowledged one is there, or until the server is gone.
  void receive_changes() {
    try {
      EXPECT_EQ(events_.back().receive().status, 200);
      while (lacks_changes()) note_change(events_.back().receive_until("\n\n"));
    } catch (const std::runtime_error&) {
      EXPECT_TRUE(is_gone_) << "the events end";
    }
    events_.clear();
  }
  /// Reads what came before the server was killed.
  void receive_last_changes() {
    is_gone_ = true;
    try {
      EXPECT_EQ(events_.back().receive().status, 200);
      while (true) note_change(events_.back().receive_until("\n\n"));
    } catch (const std::runtime_error&) {
    }
    events_.clear();
    is_gone_ = false;
  }

  [[nodiscard]] bool are_done() const {
    return std::ranges::all_of(buyers_,
                               [](const auto& one) { return one.second.is_done(one.first); });
  }

  /// Compares what the clients know with the stored orders and changes.
  void check(const Json& orders, const Json& history) const {
    EXPECT_EQ(orders.size(), buyers_.size());
    for (const Json& order : orders) {
      const int user = order["user"];
      const Buyer& buyer = buyers_.at(user);
      EXPECT_EQ(order["order"], buyer.order);
      EXPECT_EQ(order["state"], state_of(user));
    }
    EXPECT_EQ(Json(changes_), history);
  }

 private:
  static constexpr std::size_t kConnections = 4;
  static constexpr std::size_t kRequests = 6;

  /// A third of the orders is paid, and a third cancelled.
  static bool pays(int user) { return user % 3 == 1; }
  static bool cancels(int user) { return user % 3 == 2; }
  static std::string state_of(int user) {
    return pays(user) ? "paid" : cancels(user) ? "cancelled" : "unpaid";
  }

  struct Buyer {
    std::string order;  // empty: not acknowledged
    bool is_changed = false;

    [[nodiscard]] bool is_done(int user) const {
      return !order.empty() && (is_changed || state_of(user) == "unpaid");
    }
  };
  struct Sent {
    explicit Sent(std::uint16_t port) : connection(port) {}
    HttpConnection connection;
    std::vector<int> users;
  };

  std::string next_request(int user) {
    const Buyer& buyer = buyers_[user];
    const std::string text = std::to_string(user);
    if (buyer.order.empty()) {
      return http_request("POST", "/v1/vouchers/1/orders", "{\"user\": " + text + "}",
                          "Idempotency-Key: key-" + text + "\r\n");
    }
    const std::string target = "/v1/orders/" + buyer.order;
    return pays(user) ? http_request("POST", target + "/payments",
                                     R"({"amount_cents": 5, "payment": "p)" + text + "\"}")
                      : http_request("POST", target + "/cancel");
  }

  void note(int user, const HttpReply& reply) {
    if (reply.status == 503 || reply.status == 504) return;  // it is repeated
    ASSERT_TRUE(reply.status == 201 || reply.status == 200) << reply.body;
    Buyer& buyer = buyers_.at(user);
    const std::string order = reply.json()["order"];
    if (buyer.order.empty()) {
      buyer.order = order;
      return;
    }
    EXPECT_EQ(buyer.order, order);
    buyer.is_changed = true;
    acknowledged_.insert(order);
  }

  /// No change comes twice, and none with a lower position.
  void note_change(const std::string& event) {
    const std::size_t data = event.find("data: ");
    if (data == std::string::npos) return;  // a comment
    Json change = parse_trusted_json(event.substr(data + 6));
    EXPECT_GT(change["position"], position_);
    position_ = change["position"];
    seen_.insert(change["order"].get<std::string>());
    changes_.push_back(std::move(change));
  }
  [[nodiscard]] bool lacks_changes() const { return !std::ranges::includes(seen_, acknowledged_); }

  std::map<int, Buyer> buyers_;
  int next_user_ = 1;
  std::vector<Sent> sent_;
  std::vector<HttpConnection> events_;  // at most one
  std::set<std::string> acknowledged_;  // orders that were paid or cancelled
  std::set<std::string> seen_;          // orders whose change was sent
  std::vector<Json> changes_;
  std::int64_t position_ = 0;  // of the last one
  bool is_gone_ = false;
};

class HttpKillTest : public ::testing::Test {
 protected:
  HttpKillTest() {
    // No limit per user: an order that is doubled is an order more.
    std::ofstream(files_.vouchers())
        << R"([{"id": 1, "stock": 100000, "begin_ms": 0, "price_cents": 5, "end_ms": "2999-01-01",
                "payment_ms": 3600000, "limits": {"per_user": 0}}])";
  }

  void sleep_up_to(int ms) {
    std::this_thread::sleep_for(
        std::chrono::microseconds(random_() % (static_cast<unsigned>(ms) * 1'000)));
  }

  /// Lets the clients complete, and checks what is stored.
  void complete(HttpProgram& served, const std::vector<std::string>& place) {
    while (!clients_.are_done()) {
      clients_.send(served.port(), false);
      clients_.receive();
      clients_.receive_changes();
    }
    clients_.send(served.port(), false);
    clients_.receive_changes();
    served.stop();
    const auto run = [&](std::vector<std::string> command) {
      command.insert(command.end(), place.begin(), place.end());
      const ProgramResult result = run_program(command);
      EXPECT_EQ(result.exit_code, kExitOk) << result.err << result.out;
      return result.json();
    };
    clients_.check(run({"orders", "--json"}),
                   run({"export", "--what", "history", "--format", "json"}));
    EXPECT_EQ(run({"audit", "--json"})["passed"], true);
  }

  const std::uint64_t seed_ = random_seed();
  const ::testing::ScopedTrace trace_{__FILE__, __LINE__, seed_text(seed_)};
  std::mt19937_64 random_{seed_};
  const SaleFiles files_ = {};
  Clients clients_;
};

TEST_F(HttpKillTest, KilledServiceLosesAndDoublesNothing) {
  const int kills = testing::is_full_run() ? 200 : 12;
  const std::vector<std::string> place = {"--dir", files_.sale().string()};
  std::vector<std::string> arguments = place;
  arguments.insert(arguments.end(), {"--vouchers", files_.vouchers()});
  for (int i = 0; i < kills; ++i) {
    const bool is_killed_early = random_() % 4 == 0;  // while it opens the sale
    HttpProgram served(arguments, !is_killed_early);
    if (is_killed_early) {
      sleep_up_to(60);
      served.kill();
      continue;
    }
    clients_.send(served.port());
    sleep_up_to(random_() % 2 == 0 ? 3 : 30);
    served.kill();
    clients_.receive();
    clients_.receive_last_changes();
  }
  HttpProgram served(arguments);
  complete(served, place);
}

TEST_F(HttpKillTest, KilledRedisLosesAndDoublesNothing) {
  const int kills = testing::is_full_run() ? 200 : 4;
  testing::RedisServer redis({.append_only = true, .arguments = {"--appendfsync", "always"}});
  const std::vector<std::string> place = {"--dir", files_.sale().string(), "--keyspace",
                                          redis.url()};
  std::vector<std::string> arguments = place;
  arguments.insert(arguments.end(), {"--vouchers", files_.vouchers()});
  HttpProgram served(arguments);
  for (int i = 0; i < kills; ++i) {
    clients_.send(served.port());
    sleep_up_to(random_() % 2 == 0 ? 3 : 30);
    redis.kill();
    sleep_up_to(5);
    redis.restart();
    clients_.receive();
    clients_.receive_changes();
  }
  complete(served, place);
}

}  // namespace
}  // namespace rushgate
