// A database that does not reply delays what needs it, and nothing else.
#include <memory>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/barrier.h"
#include "tests/unit/adapters/http/served_sale.h"
#include <rushgate/memory_order_store.h>
#include <rushgate/open_backend.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

class HttpSlowDatabaseTest : public ::testing::Test {
 protected:
  HttpSlowDatabaseTest() {
    auto orders = std::make_unique<faults::FaultyOrderStore>(std::make_unique<MemoryOrderStore>());
    orders->before_every_read([this] { barrier_.pass(); });
    sale_ =
        FlashSale::open(open_backend("memory:").value(), std::move(orders), {.workers = 0}).value();
    HttpServerOptions options;
    options.port = 0;
    options.threads = 1;  // requests are read in the order of their arrival
    options.waiting_max = 1;
    server_ = HttpServer::start(*sale_, options).value();
    EXPECT_TRUE(sale_->publish({.id = 7, .stock = 10}).ok());
  }
  static std::string purchase(int user, const std::string& key) {
    return testing::http_request("POST", "/v1/vouchers/7/orders",
                                 "{\"user\": " + std::to_string(user) + "}",
                                 "Idempotency-Key: " + key + "\r\n");
  }

  testing::Barrier barrier_;  // in front of each read of the database
  std::unique_ptr<FlashSale> sale_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpSlowDatabaseTest, OnlyReadsWait) {
  barrier_.close();
  HttpConnection first(server_->port());
  HttpConnection second(server_->port());
  HttpConnection queued(server_->port());
  HttpConnection other(server_->port());
  const std::string read = testing::http_request("GET", "/v1/orders/1");
  first.send(read);
  barrier_.await(1);
  second.send(read);
  barrier_.await(2);
  queued.send(read);
  EXPECT_EQ(other.call("GET", "/healthz").status, 200);
  const HttpReply refused = other.call("GET", "/v1/orders/1");
  EXPECT_EQ(refused.problem(), "overloaded");
  EXPECT_EQ(refused.field("retry-after"), "1");
  for (int user = 1; user <= 3; ++user) {
    const std::string body = "{\"user\": " + std::to_string(user) + "}";
    EXPECT_EQ(other.call("POST", "/v1/vouchers/7/orders", body).status, 201);
  }
  barrier_.open();
  for (HttpConnection* const waiting : {&first, &second, &queued}) {
    EXPECT_EQ(waiting->receive().problem(), "unknown-order");
  }
}

TEST_F(HttpSlowDatabaseTest, RepetitionsDelayNoPurchase) {
  HttpConnection other(server_->port());
  other.send(purchase(1, "a"));
  EXPECT_EQ(other.receive().status, 201);
  ASSERT_TRUE(sale_->drain().ok());
  barrier_.close();
  HttpConnection first(server_->port());
  HttpConnection second(server_->port());
  HttpConnection third(server_->port());
  HttpConnection fourth(server_->port());
  const std::string repetition = purchase(1, "a");
  first.send(repetition);
  barrier_.await(1);
  second.send(repetition);
  barrier_.await(2);
  third.send(repetition);
  fourth.send(repetition);
  HttpConnection& refused = testing::first_to_receive({&third, &fourth});
  HttpConnection& queued = &refused == &third ? fourth : third;
  EXPECT_EQ(refused.receive().problem(), "overloaded");
  for (int user = 2; user <= 4; ++user) {
    other.send(purchase(user, std::to_string(user)));
    EXPECT_EQ(other.receive().status, 201);
  }
  // Others are refused without the database: the user's order is remembered.
  other.send(purchase(1, "b"));
  EXPECT_EQ(other.receive().problem(), "limit-reached");
  EXPECT_EQ(other.call("POST", "/v1/vouchers/9/orders", R"({"user": 1})").problem(),
            "unknown-voucher");
  barrier_.open();
  for (HttpConnection* const waiting : {&first, &second, &queued}) {
    EXPECT_EQ(waiting->receive().json()["state"], "created");
  }
}

}  // namespace
}  // namespace rushgate
