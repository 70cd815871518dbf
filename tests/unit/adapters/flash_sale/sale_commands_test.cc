// The calls of a sale as Redis commands, over a real socket.
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/barrier.h"
#include "tests/support/redis_server/raw_connection.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/flash_sale.h>
#include <rushgate/memory_order_store.h>
#include <rushgate/open_backend.h>
#include <rushgate/resp_server.h>
#include <rushgate/sale_commands.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

using ::testing::HasSubstr;
using testing::RawConnection;
using ::testing::StartsWith;

class SaleCommandsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto sale = FlashSale::open("memory:");
    ASSERT_TRUE(sale.ok()) << sale.status();
    sale_ = *std::move(sale);
    start({});
    client_ = std::make_unique<RawConnection>(path());
  }

  void start(SaleCommandsOptions options) {
    RespServerOptions server;
    server.bind_address = "";
    server.unix_socket = path();
    server.commands = make_sale_commands(*sale_, options);
    auto started = RespServer::start(dynamic_cast<Engine&>(sale_->backend()), std::move(server));
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
  }
  [[nodiscard]] std::string path() const { return (directory_.path() / "socket").string(); }

  void publish(Voucher voucher) {
    const absl::Status published = sale_->publish(voucher);
    ASSERT_TRUE(published.ok()) << published;
  }
  template <class... Args>
  Reply call(Args... args) {
    return client_->call(Request::of(args...));
  }
  /// Returns the value of a field of a map, as RESP2 has it.
  static Reply field(const Reply& map, std::string_view name) {
    const auto& elements = map.elements();
    for (std::size_t i = 0; i + 1 < elements.size(); i += 2) {
      if (elements[i].text() == name) return elements[i + 1];
    }
    ADD_FAILURE() << "no " << name << " in " << to_debug_string(map);
    return Reply::nil();
  }

  const TemporaryDirectory directory_;
  std::unique_ptr<FlashSale> sale_;
  std::unique_ptr<RespServer> server_;
  std::unique_ptr<RawConnection> client_;
};

TEST_F(SaleCommandsTest, OrderLivesFromPublicationToPayment) {
  const Reply published = call("SALE.PUBLISH", R"({"id": 1, "stock": 2, "begin_ms": 0,
      "end_ms": 4000000000000, "price_cents": 250, "payment_ms": 60000})");
  EXPECT_EQ(published, Reply::array({Reply::bulk("published"), Reply::integer(1)}));
  const Reply bought = call("SALE.BUY", 1, "anna", "REFERENCE", "till 3", "key", "k");
  ASSERT_EQ(bought.elements().size(), 2U) << to_debug_string(bought);
  EXPECT_EQ(bought.elements()[1], Reply::bulk("queued"));
  const std::string order = bought.elements()[0].text();
  const Reply again = call("SALE.BUY", 1, "anna", "KEY", "k");
  EXPECT_EQ(again, Reply::array({Reply::bulk(order), Reply::bulk("unpaid")}));

  EXPECT_EQ(call("SALE.PAY", order, "p1", 250), Reply::bulk("paid"));
  EXPECT_EQ(call("SALE.PAY", order, "p1", 250), Reply::bulk("paid"));
  EXPECT_THAT(call("SALE.CANCEL", order, "REASON", "no").text(),
              StartsWith("TOOLATE too late: order " + order + " is paid"));
  ASSERT_TRUE(sale_->drain().ok());
  const Reply status = call("SALE.STATUS", order);
  EXPECT_EQ(field(status, "state"), Reply::bulk("paid"));
  EXPECT_EQ(field(status, "user"), Reply::bulk("anna"));
  EXPECT_EQ(field(status, "reference"), Reply::bulk("till 3"));
  EXPECT_EQ(field(status, "price_cents"), Reply::integer(250));

  const Reply voucher = call("SALE.VOUCHER", 1);
  EXPECT_EQ(field(voucher, "free"), Reply::integer(1));
  EXPECT_EQ(field(voucher, "restock"), Reply::integer(1));
  EXPECT_EQ(call("SALE.VOUCHERS"), Reply::array({voucher}));
  EXPECT_TRUE(sale_->audit()->passed());
}

TEST_F(SaleCommandsTest, UnpaidOrderIsCancelled) {
  publish({.id = 1, .stock = 1, .price_cents = 1, .payment_ms = 60'000});
  const std::string order = call("SALE.BUY", 1, 7).elements()[0].text();
  EXPECT_EQ(call("SALE.CANCEL", order), Reply::bulk("cancelled"));
  EXPECT_EQ(call("SALE.CANCEL", order), Reply::bulk("cancelled"));
  EXPECT_EQ(field(call("SALE.VOUCHER", 1), "free"), Reply::integer(1));
}

TEST_F(SaleCommandsTest, RefusalsHaveCodes) {
  constexpr std::int64_t kFarAwayMs = 4'000'000'000'000;
  publish({.id = 1, .stock = 2});
  publish({.id = 2, .stock = 2, .begin_ms = kFarAwayMs});
  publish({.id = 3, .stock = 2, .end_ms = 1});
  const std::string order = call("SALE.BUY", 1, 7, "KEY", "k").elements()[0].text();
  EXPECT_EQ(call("SALE.BUY", 1, 7).text(), "LIMIT limit reached: order " + order);
  EXPECT_EQ(call("SALE.BUY", 1, 8, "QUANTITY", 2).text(), "SOLDOUT sold out");
  EXPECT_THAT(call("SALE.BUY", 2, 7).text(), StartsWith("NOTSTARTED not started: it is 2"));
  EXPECT_EQ(call("SALE.BUY", 3, 7).text(), "ENDED ended");
  EXPECT_EQ(call("SALE.BUY", 4, 7).text(), "UNKNOWNVOUCHER unknown voucher");
  EXPECT_THAT(call("SALE.BUY", 1, 9, "KEY", "k").text(), StartsWith("KEYREUSED "));
  EXPECT_THAT(call("SALE.PAY", 5, "p1", 1).text(), StartsWith("UNKNOWNORDER "));
  EXPECT_THAT(call("SALE.STATUS", 5).text(), StartsWith("UNKNOWNORDER "));
  EXPECT_THAT(call("SALE.VOUCHER", 5).text(), StartsWith("UNKNOWNVOUCHER "));
  EXPECT_THAT(call("SALE.PUBLISH", R"({"id": 1, "stock": 0, "begin_ms": 0, "end_ms": 1})").text(),
              StartsWith("REFUSED "));
}

TEST_F(SaleCommandsTest, PurchaseTokenIsSpent) {
  publish({.id = 1, .stock = 2, .needs_token = true});
  ASSERT_EQ(call("SET", SaleKeys{}.purchase_tokens() + "1:7", "a"), Reply::ok());
  EXPECT_THAT(call("SALE.BUY", 1, 7).text(), StartsWith("TOKENREFUSED token refused"));
  EXPECT_EQ(call("SALE.BUY", 1, 7, "TOKEN", "a").elements().size(), 2U);
  EXPECT_THAT(call("SALE.BUY", 1, 7, "TOKEN", "a").text(), StartsWith("LIMIT"));
  EXPECT_EQ(field(call("SALE.VOUCHER", 1), "needs_token"), Reply::integer(1));
}

TEST_F(SaleCommandsTest, PublicationIsConditional) {
  const char* const terms = R"({"id": 1, "stock": 2, "begin_ms": 0, "end_ms": 4000000000000})";
  const char* const others = R"({"id": 1, "stock": 3, "begin_ms": 0, "end_ms": 4000000000000})";
  const auto reply = [](const char* result, std::int64_t version) {
    return Reply::array({Reply::bulk(result), Reply::integer(version)});
  };
  EXPECT_EQ(call("SALE.PUBLISH", terms, "IFNEW"), reply("published", 1));
  EXPECT_EQ(call("SALE.PUBLISH", others, "ifnew"), reply("left", 1));
  EXPECT_THAT(call("SALE.PUBLISH", others, "VERSION", 5).text(), StartsWith("VERSIONCHANGED "));
  EXPECT_EQ(call("SALE.PUBLISH", others, "VERSION", 1), reply("changed", 2));
  EXPECT_EQ(call("SALE.PUBLISH", others), reply("left", 2));
}

TEST_F(SaleCommandsTest, HostileArgumentsAreRefused) {
  publish({.id = 1, .stock = 5});
  const std::vector<Request> all = {
      Request::of("SALE.BUY", "x", 7),
      Request::of("SALE.BUY", "9223372036854775808", 7),
      Request::of("SALE.BUY", 1, ""),
      Request::of("SALE.BUY", 1, "a b"),
      Request::of("SALE.BUY", 1, "\xff"),
      Request::of("SALE.BUY", 1, std::string(65, 'u')),
      Request::of("SALE.BUY", 1, 7, "QUANTITY"),
      Request::of("SALE.BUY", 1, 7, "QUANTITY", 0),
      Request::of("SALE.BUY", 1, 7, "QUANTITY", -1),
      Request::of("SALE.BUY", 1, 7, "QUANTITY", "9223372036854775807"),
      Request::of("SALE.BUY", 1, 7, "KEY", std::string(256, 'k')),
      Request::of("SALE.BUY", 1, 7, "REFERENCE", std::string(65, 'r')),
      Request::of("SALE.BUY", 1, 7, "KEY", "k", "k"),
      Request::of("SALE.PAY", "", "p", 1),
      Request::of("SALE.PAY", 1, "p", "1.5"),
      Request::of("SALE.CANCEL", 1, "REASON"),
      Request::of("SALE.CANCEL", 1, "WHY", "no"),
      Request::of("SALE.STATUS", "1 "),
      Request::of("SALE.VOUCHER", "0x1"),
      Request::of("SALE.PUBLISH", ""),
      Request::of("SALE.PUBLISH", "[]"),
      Request::of("SALE.PUBLISH", R"({"id": 2, "stock": 1, "begin_ms": 0, "end_ms": 1, "x": 1})"),
      Request::of("SALE.PUBLISH", R"({"id": 2, "stock": 1, "begin_ms": 0, "end_ms": 1}, {})"),
      Request::of("SALE.PUBLISH", std::string(30'000, '[') + std::string(30'000, ']')),
      Request::of("SALE.PUBLISH",
                  "{\"id\": " + std::string(30'000, '[') + std::string(30'000, ']') + "}"),
      Request::of("SALE.PUBLISH",
                  R"({"id": 2, "stock": 1, "begin_ms": 0, "end_ms": 9, "stock": 2})"),
      Request::of("SALE.PUBLISH", std::string(70'000, ' ')),
      Request::of("SALE.PUBLISH", "{}", "IFNEW", "IFNEW"),
  };
  for (const Request& request : all) {
    const Reply reply = client_->call(request);
    EXPECT_THAT(reply.text(), StartsWith("ERR ")) << request[0] << " " << request[1].substr(0, 60);
  }
  EXPECT_EQ(field(call("SALE.VOUCHER", 1), "free"), Reply::integer(5));
  EXPECT_EQ(call("SALE.VOUCHERS").elements().size(), 1U);
}

TEST_F(SaleCommandsTest, ReferenceMayHaveAnyBytes) {
  publish({.id = 1, .stock = 1, .price_cents = 1, .payment_ms = 60'000});
  const std::string order = call("SALE.BUY", 1, 7, "REFERENCE", "\xff\r\n").elements()[0].text();
  ASSERT_TRUE(sale_->drain().ok());
  EXPECT_EQ(field(call("SALE.STATUS", order), "reference"), Reply::bulk("\xff\r\n"));
}

/// The pipeline of one client waits for the database, and nobody else does.
TEST_F(SaleCommandsTest, RepetitionsDelayNoPurchase) {
  testing::Barrier barrier;
  auto orders = std::make_unique<faults::FaultyOrderStore>(std::make_unique<MemoryOrderStore>());
  orders->before_every_read([&] { barrier.pass(); });
  server_.reset();
  sale_ =
      FlashSale::open(open_backend("memory:").value(), std::move(orders), {.workers = 0}).value();
  start({.waiting_max = 1'000});
  publish({.id = 1, .stock = 10});
  RawConnection first(path());
  RawConnection other(path());
  const Request purchase = Request::of("SALE.BUY", 1, 7, "KEY", "k");
  const std::string order = first.call(purchase).elements()[0].text();
  ASSERT_TRUE(sale_->drain().ok());
  barrier.close();
  first.send(std::vector{purchase, Request::of("SALE.BUY", 1, 8), Request::of("SALE.BUY", 1, "")});
  barrier.await(1);
  for (const int user : {9, 10}) {
    const Reply bought = other.call(Request::of("SALE.BUY", 1, user));
    EXPECT_EQ(bought.elements().at(1), Reply::bulk("queued"));
  }
  EXPECT_FALSE(first.has_reply());
  barrier.open();
  EXPECT_THAT(first.receive(), HasSubstr(order + "\r\n$7\r\ncreated"));
  EXPECT_THAT(first.receive(), HasSubstr("queued"));
  EXPECT_THAT(first.receive(), StartsWith("-ERR user"));
}

/// Many clients with pipelines sell no piece twice, and each reply belongs to its request.
TEST_F(SaleCommandsTest, ConcurrentPipelinesSellStockOnce) {
  constexpr int kClients = 4;
  constexpr int kPurchases = 500;
  constexpr int kStock = 700;
  publish({.id = 1, .stock = kStock});
  std::vector<std::vector<std::string>> replies(kClients);  // of each client
  std::vector<std::thread> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([this, i, &of_client = replies[static_cast<std::size_t>(i)]] {
      RawConnection client(path());
      std::vector<Request> requests;
      for (int j = 0; j < kPurchases; ++j) {
        requests.push_back(Request::of("SALE.BUY", 1, i * kPurchases + j));
      }
      of_client = client.exchange(requests);
    });
  }
  for (std::thread& client : clients) client.join();
  std::set<std::string> orders;
  std::size_t sold_out = 0;
  for (const auto& of_client : replies) {
    for (const std::string& reply : of_client) {
      if (reply == "-SOLDOUT sold out\r\n") {
        ++sold_out;
      } else {
        EXPECT_THAT(reply, StartsWith("*2\r\n"));
        orders.insert(reply);
      }
    }
  }
  EXPECT_EQ(orders.size(), static_cast<std::size_t>(kStock));
  EXPECT_EQ(sold_out + orders.size(), static_cast<std::size_t>(kClients * kPurchases));
  ASSERT_TRUE(sale_->drain().ok());
  EXPECT_TRUE(sale_->audit()->passed());
}

TEST_F(SaleCommandsTest, PipelineIsDecidedInOrder) {
  publish({.id = 1, .stock = 1, .price_cents = 1, .payment_ms = 60'000});
  const std::string order = call("SALE.BUY", 1, 7).elements()[0].text();
  const std::vector<Request> requests = {
      Request::of("SALE.PAY", order, "p1", 2), Request::of("SALE.CANCEL", order),
      Request::of("SALE.BUY", 1, 8),           Request::of("GET", "seckill:stock:1"),
      Request::of("SALE.PAY", order, "p2", 1), Request::of("SALE.STATUS", 5),
  };
  const auto replies = client_->exchange(requests);
  EXPECT_THAT(replies[0], StartsWith("-REFUSED "));
  EXPECT_EQ(replies[1], "$9\r\ncancelled\r\n");
  EXPECT_THAT(replies[2], HasSubstr("queued"));
  EXPECT_EQ(replies[3], "$1\r\n0\r\n");
  EXPECT_THAT(replies[4], StartsWith("-TOOLATE "));
  EXPECT_THAT(replies[5], StartsWith("-UNKNOWNORDER "));
}

TEST_F(SaleCommandsTest, Resp3HasMaps) {
  publish({.id = 1, .stock = 1});
  call("HELLO", 3);
  client_->send(Request::of("SALE.VOUCHER", 1));
  EXPECT_THAT(client_->receive(), StartsWith("%"));
}

TEST_F(SaleCommandsTest, TooManyWaitingRequestsAreOverloaded) {
  publish({.id = 1, .stock = 5});
  server_.reset();
  start({.waiting_max = 2});
  client_ = std::make_unique<RawConnection>(path());
  const std::vector<Request> requests = {
      Request::of("SALE.BUY", 1, 1), Request::of("SALE.BUY", 1, 2), Request::of("SALE.BUY", 1, 3)};
  for (const std::string& reply : client_->exchange(requests)) {
    EXPECT_THAT(reply, StartsWith("-OVERLOADED "));
  }
  EXPECT_EQ(call("SALE.BUY", 1, 1).elements().size(), 2U);
  EXPECT_EQ(field(call("SALE.VOUCHER", 1), "admitted"), Reply::integer(1));
}

}  // namespace
}  // namespace rushgate
