// What each route does, over real sockets.
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/adapters/http/served_sale.h"
#include <rushgate/engine.h>
#include <rushgate/memory_order_store.h>
#include <rushgate/memory_store.h>
#include <rushgate/request.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTea = R"({"title": "Tea", "stock": 3, "begin_ms": 0,
                                 "end_ms": "2999-01-01T00:00:00+08:00", "price_cents": "250"})";

// ---- Vouchers ----

TEST(HttpVoucherTest, PutPublishesAndGetShows) {
  const ServedSale served;
  const HttpReply put = served.call("PUT", "/v1/vouchers/7", kTea);
  ASSERT_EQ(put.status, 201) << put.body;
  EXPECT_EQ(put.field("etag"), "\"1\"");
  EXPECT_EQ(put.field("location"), "/v1/vouchers/7");
  const HttpReply got = served.call("GET", "/v1/vouchers/7");
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(got.body, put.body);
  EXPECT_EQ(got.json()["price_cents"], 250);
  EXPECT_EQ(got.json()["free"], 3);
  EXPECT_EQ(served.call("GET", "/v1/vouchers/8").problem(), "unknown-voucher");
}

TEST(HttpVoucherTest, PutWithOldVersionChangesNothing) {
  const ServedSale served;
  served.publish(7, 3);
  const std::string more = R"({"stock": 9, "begin_ms": 0, "end_ms": 5000000000000})";
  EXPECT_EQ(served.call("PUT", "/v1/vouchers/7", more, "If-Match: \"5\"\r\n").problem(),
            "version-changed");
  EXPECT_EQ(served.call("PUT", "/v1/vouchers/7", more, "If-None-Match: *\r\n").status, 412);
  EXPECT_EQ(served.call("GET", "/v1/vouchers/7").json()["stock"], 3);
  const HttpReply put = served.call("PUT", "/v1/vouchers/7", more, "If-Match: \"1\"\r\n");
  EXPECT_EQ(put.status, 200) << put.body;
  EXPECT_EQ(put.field("etag"), "\"2\"");
  EXPECT_EQ(served.call("PUT", "/v1/vouchers/8", more, "If-None-Match: *\r\n").status, 201);
}

TEST(HttpVoucherTest, ObjectOfGetCanBePut) {
  const ServedSale served;
  served.publish(7, 3);
  const HttpReply got = served.call("GET", "/v1/vouchers/7");
  Json voucher = got.json();
  voucher["stock"] = 9;
  const std::string if_match = "If-Match: " + got.field("etag") + "\r\n";
  const HttpReply put = served.call("PUT", "/v1/vouchers/7", voucher.dump(), if_match);
  ASSERT_EQ(put.status, 200) << put.body;
  EXPECT_EQ(put.json()["free"], 9);
  EXPECT_EQ(put.json()["title"], "Tea");
}

TEST(HttpVoucherTest, WrongTermsNameTheField) {
  const ServedSale served;
  const auto detail = [&](const std::string& body) {
    const HttpReply reply = served.call("PUT", "/v1/vouchers/7", body);
    EXPECT_EQ(reply.problem(), "invalid-request") << reply.body;
    return reply.json()["detail"].get<std::string>();
  };
  EXPECT_EQ(detail(R"({"stock": 1, "begin_ms": 0})"), "end_ms: is missing");
  EXPECT_THAT(detail(R"({"stock": 1, "begin_ms": 0, "end_ms": 9, "limits": {"x": 1}})"),
              HasSubstr("limits.x: is not a field here"));
  EXPECT_EQ(detail(R"({"id": 8, "stock": 1, "begin_ms": 0, "end_ms": 9})"),
            "id: differs from the path's");
  EXPECT_EQ(detail(R"({"stock": -1, "begin_ms": 0, "end_ms": 9})"),
            "stock must be from 0 to 1000000000000, not -1");
}

TEST(HttpVoucherTest, StockIsAddedAndSaleCloses) {
  const ServedSale served;
  served.publish(7, 3);
  EXPECT_EQ(served.call("POST", "/v1/vouchers/7/stock", R"({"delta": -2})").json()["free"], 1);
  EXPECT_EQ(served.call("POST", "/v1/vouchers/7/stock", R"({"delta": -2})").problem(),
            "invalid-request");
  EXPECT_NE(served.buy(7, "1"), "");
  EXPECT_EQ(served.call("POST", "/v1/vouchers/7/stock", R"({"delta": -1})").problem(), "refused");
  EXPECT_EQ(served.call("POST", "/v1/vouchers/7/archive").problem(), "refused");
  EXPECT_EQ(served.call("POST", "/v1/vouchers/7/close").status, 200);
  EXPECT_EQ(served.call("POST", "/v1/vouchers/7/orders", R"({"user": 1})").problem(), "ended");
  const HttpReply archived = served.call("POST", "/v1/vouchers/7/archive");
  EXPECT_EQ(archived.status, 200) << archived.body;
  EXPECT_EQ(served.call("POST", "/v1/vouchers/8/close").problem(), "unknown-voucher");
}

TEST(HttpVoucherTest, ListIsPagedByPosition) {
  const ServedSale served;
  for (const VoucherId id : {3, 1, 2}) served.publish(id, 1);
  const Json first = served.call("GET", "/v1/vouchers?limit=2").json();
  ASSERT_EQ(first["vouchers"].size(), 2U);
  EXPECT_EQ(first["vouchers"][0]["id"], 1);
  EXPECT_EQ(first["next"], 2);
  const Json second = served.call("GET", "/v1/vouchers?limit=2&after=2").json();
  ASSERT_EQ(second["vouchers"].size(), 1U);
  EXPECT_EQ(second["vouchers"][0]["id"], 3);
  EXPECT_TRUE(second["next"].is_null());
}

// ---- Buying ----

TEST(HttpBuyTest, RepetitionGetsTheSameOrder) {
  const ServedSale served;
  served.publish(7, 3, 60'000);
  const std::string body = R"({"user": "anna", "quantity": 1, "reference": "till 4"})";
  const std::string key = "Idempotency-Key: click-1\r\n";
  const HttpReply bought = served.call("POST", "/v1/vouchers/7/orders", body, key);
  ASSERT_EQ(bought.status, 201) << bought.body;
  const std::string order = bought.json()["order"];
  EXPECT_EQ(bought.field("location"), "/v1/orders/" + order);
  ASSERT_TRUE(served.sale().drain().ok());
  const HttpReply again = served.call("POST", "/v1/vouchers/7/orders", body, key);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.json()["order"], order);
  EXPECT_EQ(again.json()["state"], "unpaid");
  EXPECT_EQ(served.call("POST", "/v1/vouchers/7/orders", R"({"user": "bob"})", key).problem(),
            "key-reused");
}

TEST(HttpBuyTest, EachRefusalHasItsType) {
  const ServedSale served;
  served.publish(7, 2);
  const std::string order = served.buy(7, "1");
  const auto buy = [&](const std::string& voucher, const std::string& body) {
    return served.call("POST", "/v1/vouchers/" + voucher + "/orders", body);
  };
  const HttpReply at_limit = buy("7", R"({"user": 1})");
  EXPECT_EQ(at_limit.status, 409);
  EXPECT_EQ(at_limit.problem(), "limit-reached");
  EXPECT_EQ(at_limit.json()["order"], order);
  EXPECT_NE(served.buy(7, "2"), "");
  EXPECT_EQ(buy("7", R"({"user": 3})").problem(), "sold-out");
  EXPECT_EQ(buy("8", R"({"user": 2})").problem(), "unknown-voucher");
  const Voucher later = {.id = 9, .stock = 1, .begin_ms = kNeverEndsMs - 1};
  ASSERT_TRUE(served.sale().publish(later).ok());
  const HttpReply early = buy("9", R"({"user": 2})");
  EXPECT_EQ(early.problem(), "not-started");
  EXPECT_THAT(early.json()["now"].get<std::string>(), HasSubstr("Z"));
  ASSERT_TRUE(served.sale().sale().close(7).ok());
  EXPECT_EQ(buy("7", R"({"user": 3})").problem(), "ended");
  ASSERT_TRUE(served.sale()
                  .publish({.id = 10, .stock = 5, .limits = {.per_user = 0, .per_user_day = 1}})
                  .ok());
  const std::string today = served.buy(10, "1");
  const HttpReply again = buy("10", R"({"user": 1})");
  EXPECT_EQ(again.problem(), "day-limit-reached");
  EXPECT_EQ(again.json()["order"], today);
}

/// A sale whose two stores can fail.
struct FailingSale {
  FailingSale() {
    auto kept = std::make_unique<faults::FaultyStore>(std::make_unique<MemoryStore>());
    keyspace = kept.get();
    auto stored = std::make_unique<faults::FaultyOrderStore>(std::make_unique<MemoryOrderStore>());
    orders = stored.get();
    sale = FlashSale::open(Engine::open(std::move(kept)).value(), std::move(stored),
                           {.start_workers = false})
               .value();
    EXPECT_TRUE(sale->publish({.id = 7, .stock = 10}).ok());
    HttpServerOptions options;
    options.port = 0;
    server = HttpServer::start(*sale, options).value();
  }
  [[nodiscard]] HttpReply call(const std::string& method, const std::string& target,
                               const std::string& body = {}, const std::string& fields = {}) const {
    return HttpConnection(server->port()).call(method, target, body, fields);
  }

  faults::FaultyStore* keyspace = nullptr;
  faults::FaultyOrderStore* orders = nullptr;
  std::unique_ptr<FlashSale> sale;
  std::unique_ptr<HttpServer> server;
};

TEST(HttpFailureTest, LostCommitNamesTheOrder) {
  const FailingSale failing;
  ASSERT_EQ(failing.sale->buy(7, 2).outcome, Outcome::kAccepted);  // draws ids
  failing.keyspace->fail_commit(1, faults::FaultyStore::Kept::kYes);
  const HttpReply unknown = failing.call("POST", "/v1/vouchers/7/orders", R"({"user": 1})");
  EXPECT_EQ(unknown.status, 504);
  EXPECT_EQ(unknown.problem(), "outcome-unknown");
  EXPECT_EQ(unknown.field("retry-after"), "1");
  EXPECT_GT(std::stoll(unknown.json()["order"].get<std::string>()), 0) << unknown.body;
}

TEST(HttpFailureTest, LostRecordOfStockMayFollow) {
  const FailingSale failing;
  failing.orders->fail_voucher_writes();
  const HttpReply unknown = failing.call("POST", "/v1/vouchers/7/stock", R"({"delta": 1})");
  EXPECT_EQ(unknown.status, 504);
  EXPECT_EQ(unknown.problem(), "outcome-unknown");
}

TEST(HttpFailureTest, UserMayWaitAfterLostCommit) {
  const FailingSale failing;
  ASSERT_TRUE(failing.sale->publish({.id = 8, .stock = 1, .waiting_max = 5}).ok());
  ASSERT_EQ(failing.sale->buy(8, 2).outcome, Outcome::kAccepted);
  failing.keyspace->fail_commit(1, faults::FaultyStore::Kept::kYes);
  const HttpReply unknown = failing.call("POST", "/v1/vouchers/8/waiting", R"({"user": 1})");
  EXPECT_EQ(unknown.problem(), "outcome-unknown") << unknown.body;
}

TEST(HttpFailureTest, UnreadableDatabaseFailsReads) {
  const FailingSale failing;
  failing.orders->fail_reads();
  const HttpReply away = failing.call("GET", "/v1/orders/1");
  EXPECT_EQ(away.problem(), "unavailable");
  EXPECT_EQ(away.field("retry-after"), "1");
  failing.orders->fail_reads(absl::DataLossError("a torn page"));
  const HttpReply failed = failing.call("GET", "/v1/orders/1");
  EXPECT_EQ(failed.status, 500);
  EXPECT_EQ(failed.problem(), "failed");
  EXPECT_EQ(failed.json()["detail"], "a torn page");
  EXPECT_EQ(failing.call("POST", "/v1/vouchers/7/orders", R"({"user": 1})").status, 201);
}

TEST(HttpBuyTest, PurchaseTokenIsSpent) {
  const ServedSale served;
  ASSERT_TRUE(served.sale().publish({.id = 7, .stock = 3, .needs_token = true}).ok());
  (*served.sale().backend().open_client())("SET", SaleKeys{}.purchase_tokens() + "7:anna", "a");
  const auto buy = [&](const Json& body) {
    return served.call("POST", "/v1/vouchers/7/orders", body.dump());
  };
  EXPECT_EQ(buy({{"user", "anna"}}).problem(), "token-refused");
  EXPECT_EQ(buy({{"user", "anna"}, {"purchase_token", "b"}}).problem(), "token-refused");
  EXPECT_EQ(buy({{"user", "anna"}, {"purchase_token", "a"}}).status, 201);
  const std::string too_long(BuyRequest::kPurchaseTokenBytesMax + 1, 'a');
  EXPECT_EQ(buy({{"user", "anna"}, {"purchase_token", too_long}}).problem(), "invalid-request");
  EXPECT_EQ(served.call("GET", "/v1/vouchers/7").json()["needs_token"], true);
}

TEST(HttpBuyTest, WrongRequestNamesTheFault) {
  const ServedSale served;
  served.publish(7, 1);
  const auto detail = [&](const std::string& body, const std::string& fields = {}) {
    const HttpReply reply = served.call("POST", "/v1/vouchers/7/orders", body, fields);
    EXPECT_EQ(reply.problem(), "invalid-request") << reply.body;
    return reply.json().value("detail", "");
  };
  EXPECT_EQ(detail("{}"), "user: is missing");
  EXPECT_EQ(detail(R"({"user": 1, "quantity": 0})"), "quantity: must be from 1 to 10000");
  EXPECT_THAT(detail(R"({"user": "a b"})"), HasSubstr("user: "));
  EXPECT_THAT(detail(R"({"user": 1, "usr": 2})"), HasSubstr("usr: is not a field here"));
  EXPECT_THAT(detail(R"({"user": 1, "user": 2})"), HasSubstr("\"user\" is there twice"));
  EXPECT_THAT(detail(R"({"user": 1)"), HasSubstr("parse error"));
  EXPECT_THAT(detail("[1]"), HasSubstr("must be an object"));
  EXPECT_THAT(detail(R"({"user": 1})", "Idempotency-Key: " + std::string(256, 'k') + "\r\n"),
              HasSubstr("Idempotency-Key: must have at most 255"));
  EXPECT_EQ(served.sale().voucher(7).value()->admitted, 0);
}

// ---- Orders ----

TEST(HttpOrderTest, OrderIsPaidUsedAndRefunded) {
  const ServedSale served;
  served.publish(7, 3, 60'000);
  const std::string order = "/v1/orders/" + served.buy(7, "1");
  const std::string payment = R"({"payment": "pi_1", "amount_cents": 500})";
  EXPECT_EQ(served.call("POST", order + "/payments", R"({"payment": "pi_1", "amount_cents": 1})")
                .problem(),
            "refused");
  for (const bool repeated : {false, true}) {
    const HttpReply paid = served.call("POST", order + "/payments", payment);
    ASSERT_EQ(paid.status, 200) << paid.body;
    EXPECT_EQ(paid.json()["state"], "paid");
    EXPECT_EQ(paid.json()["repeated"], repeated);
  }
  EXPECT_EQ(served.call("POST", order + "/cancel").problem(), "too-late");
  ASSERT_TRUE(served.sale().drain().ok());
  EXPECT_EQ(served.call("POST", order + "/use", R"({"actor": "anna"})").json()["state"], "used");
  EXPECT_EQ(served.call("POST", order + "/refund", R"({"reason": "broken"})").status, 200);
  ASSERT_TRUE(served.sale().drain().ok());
  const Json due = served.call("GET", "/v1/payments?state=due").json();
  ASSERT_EQ(due["payments"].size(), 1U);
  EXPECT_EQ(due["payments"][0]["payment"], "pi_1");
  EXPECT_EQ(served.call("POST", "/v1/payments/pi_1/confirm-refund").json()["state"], "refunded");
  const Json seen = served.call("GET", order).json();
  EXPECT_EQ(seen["state"], "refunded");
  EXPECT_EQ(seen["payments"][0]["state"], "refunded");
  EXPECT_EQ(seen["history"].back()["to"], "refunded");
  EXPECT_EQ(served.call("POST", "/v1/orders/99/cancel").problem(), "unknown-order");
  EXPECT_EQ(served.call("GET", "/v1/orders/99").problem(), "unknown-order");
}

TEST(HttpOrderTest, OrdersOfUserArePaged) {
  const ServedSale served;
  std::string last;
  for (const VoucherId id : {1, 2, 3}) {
    served.publish(id, 1);
    last = served.buy(id, "ann/a");
  }
  const Json first = served.call("GET", "/v1/users/ann%2Fa/orders?limit=2").json();
  ASSERT_EQ(first["orders"].size(), 2U);
  const std::string next = first["next"];
  const Json second = served.call("GET", "/v1/users/ann%2Fa/orders?limit=2&after=" + next).json();
  ASSERT_EQ(second["orders"].size(), 1U);
  EXPECT_EQ(second["orders"][0]["order"], last);
}

TEST(HttpOrderTest, OrdersAreFoundByReference) {
  const ServedSale served;
  served.publish(7, 9);
  std::string last;
  for (const char* const user : {"1", "2", "3", "4"}) {
    const std::string reference = user == std::string("3") ? "till 5" : "till 4";
    const HttpReply bought = served.call(
        "POST", "/v1/vouchers/7/orders",
        R"({"user": ")" + std::string(user) + R"(", "reference": ")" + reference + "\"}");
    last = bought.json()["order"];
  }
  ASSERT_TRUE(served.sale().drain().ok());
  const Json first = served.call("GET", "/v1/orders?reference=till%204&limit=2").json();
  EXPECT_EQ(first["orders"].size(), 2);
  const Json second = served
                          .call("GET", "/v1/orders?reference=till%204&limit=2&after=" +
                                           first["next"].get<std::string>())
                          .json();
  ASSERT_EQ(second["orders"].size(), 1);
  EXPECT_EQ(second["orders"][0]["order"], last);
  EXPECT_EQ(second["next"], nullptr);
  EXPECT_TRUE(served.call("GET", "/v1/orders?reference=none").json()["orders"].empty());
}

TEST(HttpWaitingTest, UserWaitsAndLeaves) {
  const ServedSale served;
  const Voucher voucher = {.id = 7, .stock = 1, .waiting_max = 5};
  ASSERT_TRUE(served.sale().publish(voucher).ok());
  EXPECT_EQ(served.call("POST", "/v1/vouchers/7/waiting", R"({"user": 2})").problem(),
            "pieces-free");
  EXPECT_NE(served.buy(7, "1"), "");
  const HttpReply waits = served.call("POST", "/v1/vouchers/7/waiting", R"({"user": 2})");
  ASSERT_EQ(waits.status, 200) << waits.body;
  EXPECT_EQ(waits.json()["place"], 1);
  EXPECT_EQ(served.call("GET", "/v1/vouchers/7/waiting").json()["users"], Json::array({2}));
  EXPECT_EQ(served.call("DELETE", "/v1/vouchers/7/waiting/2").json()["left"], true);
  EXPECT_EQ(served.call("DELETE", "/v1/vouchers/7/waiting/2").json()["left"], false);
}

TEST(HttpWaitingTest, PageGoesOnBehindUserWhoLeft) {
  const ServedSale served;
  ASSERT_TRUE(served.sale().publish({.id = 7, .stock = 1, .waiting_max = 5}).ok());
  EXPECT_NE(served.buy(7, "1"), "");
  for (const char* const user : {R"({"user": "anna"})", R"({"user": 3})", R"({"user": "bob"})"}) {
    ASSERT_EQ(served.call("POST", "/v1/vouchers/7/waiting", user).status, 200);
  }
  const std::string page = "/v1/vouchers/7/waiting?limit=1";
  const auto after = [&](const Json& last) {
    return served.call("GET", page + "&after=" + last["next"].dump()).json();
  };
  const Json first = served.call("GET", page).json();
  EXPECT_EQ(first["users"], Json::array({"anna"}));
  EXPECT_EQ(served.call("DELETE", "/v1/vouchers/7/waiting/anna").status, 200);
  const Json second = after(first);
  EXPECT_EQ(second["users"], Json::array({3}));
  const Json third = after(second);
  EXPECT_EQ(third["users"], Json::array({"bob"}));
  EXPECT_EQ(after(third), Json({{"users", Json::array()}, {"next", nullptr}}));
}

TEST(HttpWaitingTest, FullOrMissingListIsNamed) {
  const ServedSale served;
  ASSERT_TRUE(served.sale().publish({.id = 7, .stock = 1, .waiting_max = 1}).ok());
  served.publish(8, 1);
  for (const VoucherId voucher : {7, 8}) EXPECT_NE(served.buy(voucher, "1"), "");
  const auto wait = [&](const std::string& voucher, const std::string& user) {
    return served.call("POST", "/v1/vouchers/" + voucher + "/waiting",
                       R"({"user": ")" + user + "\"}");
  };
  EXPECT_EQ(wait("7", "2").status, 200);
  EXPECT_EQ(wait("7", "3").problem(), "waiting-list-full");
  EXPECT_EQ(wait("7", "1").problem(), "limit-reached");
  EXPECT_EQ(wait("8", "2").problem(), "no-waiting-list");
}

TEST(HttpEntranceTest, TokenOfEntranceBuysOnce) {
  HttpServerOptions options;
  options.entrance_per_second = 1;
  const ServedSale served(options);
  const Voucher guarded = {.id = 7, .stock = 10, .limits = {.per_user = 0}, .needs_token = true};
  ASSERT_TRUE(served.sale().publish(guarded).ok());
  HttpConnection connection = served.connect();
  const auto enter = [&](const std::string& user) {
    return connection.call("POST", "/v1/vouchers/7/entrance", R"({"user": ")" + user + "\"}");
  };
  const auto buy = [&](const std::string& user, const std::string& token) {
    return connection.call("POST", "/v1/vouchers/7/orders",
                           R"({"user": ")" + user + R"(", "purchase_token": ")" + token + "\"}");
  };
  EXPECT_EQ(buy("anna", "").problem(), "token-refused");
  const HttpReply entered = enter("anna");
  ASSERT_EQ(entered.status, 200) << entered.body;
  const std::string token = entered.json()["purchase_token"];
  EXPECT_EQ(enter("anna").json()["purchase_token"], token);
  const HttpReply second = enter("bob");
  EXPECT_EQ(second.status, 202);
  EXPECT_EQ(second.json()["position"], 1);
  EXPECT_EQ(second.field("retry-after"), "1");
  EXPECT_EQ(enter("carl").json()["position"], 2);
  EXPECT_EQ(enter("bob").json()["position"], 1);
  EXPECT_EQ(buy("bob", token).problem(), "token-refused");
  EXPECT_EQ(buy("anna", token).status, 201);
  EXPECT_EQ(buy("anna", token).problem(), "token-refused");
}

TEST(HttpEntranceTest, FullRoomIsOverloaded) {
  HttpServerOptions options;
  options.entrance_per_second = 1;
  options.entrance_waiting_max = 1;
  const ServedSale served(options);
  const Voucher guarded = {.id = 7, .stock = 10, .needs_token = true};
  ASSERT_TRUE(served.sale().publish(guarded).ok());
  const auto enter = [&](const std::string& user) {
    return served.call("POST", "/v1/vouchers/7/entrance", "{\"user\": " + user + "}");
  };
  EXPECT_EQ(enter("1").status, 200);
  EXPECT_EQ(enter("2").status, 202);
  EXPECT_EQ(enter("3").problem(), "overloaded");
  served.publish(8, 1);
  EXPECT_EQ(served.call("POST", "/v1/vouchers/8/entrance", R"({"user": 1})").problem(), "refused");
  EXPECT_EQ(served.call("POST", "/v1/vouchers/9/entrance", R"({"user": 1})").problem(),
            "unknown-voucher");
  options.entrance_per_second = 0;
  EXPECT_FALSE(HttpServer::start(served.sale(), options).ok());
}

// ---- Operating ----

TEST(HttpOperatorTest, AuditReportsItsVerdict) {
  const ServedSale served;
  served.publish(7, 3);
  EXPECT_EQ(served.call("GET", "/v1/audit").problem(), "not-found");
  EXPECT_NE(served.buy(7, "1"), "");
  HttpConnection connection = served.connect();
  EXPECT_EQ(connection.call("POST", "/v1/audit").status, 202);
  Json audit;
  do {
    audit = connection.call("GET", "/v1/audit").json();
  } while (audit["state"] == "running");
  EXPECT_EQ(audit["report"]["passed"], true) << audit;
  EXPECT_EQ(audit["report"]["vouchers"][0]["admitted"], 1);
  EXPECT_EQ(audit["progress"]["vouchers_checked"], audit["progress"]["vouchers"]);
  EXPECT_EQ(audit["progress"]["orders"], 1);
  EXPECT_EQ(audit["progress"]["orders_checked"], 1);
}

TEST(HttpOperatorTest, DeadLettersAreListedAndDiscarded) {
  const ServedSale served;
  served.publish(7, 3);
  const auto client = served.sale().backend().open_client();
  const std::string stream = served.sale().keys().order_stream;
  ASSERT_FALSE(client->call(Request::of("XADD", stream, "*", "no", "order")).is_error());
  HttpConnection connection = served.connect();
  Json letters;
  do {
    letters = connection.call("GET", "/v1/dead-letters").json();
  } while (letters["dead_letters"].empty());
  const std::string path =
      "/v1/dead-letters/" + letters["dead_letters"][0]["id"].get<std::string>();
  EXPECT_EQ(connection.call("POST", path + "/discard").problem(), "invalid-request");
  EXPECT_EQ(
      connection.call("POST", path + "/discard", R"({"reason": "no order"})").json()["discarded"],
      true);
  EXPECT_EQ(connection.call("POST", path + "/retry").json()["retried"], false);
  EXPECT_EQ(connection.call("POST", "/v1/dead-letters/tea/retry").json()["retried"], false);
  EXPECT_EQ(connection.call("POST", "/v1/dead-letters/tea/discard", R"({"reason": "-"})")
                .json()["discarded"],
            false);
}

TEST(HttpOperatorTest, LetterPageGoesOnBehindDiscardedOne) {
  const ServedSale served;
  served.publish(7, 3);
  const auto client = served.sale().backend().open_client();
  const std::string stream = served.sale().keys().order_stream;
  constexpr std::size_t kLetters = 3;
  for (std::size_t i = 0; i < kLetters; ++i) {
    ASSERT_FALSE(client->call(Request::of("XADD", stream, "*", "no", "order")).is_error());
  }
  HttpConnection connection = served.connect();
  while (connection.call("GET", "/v1/dead-letters").json()["dead_letters"].size() < kLetters) {
  }
  const std::string page = "/v1/dead-letters?limit=1";
  const Json first = connection.call("GET", page).json();
  const std::string id = first["dead_letters"][0]["id"];
  EXPECT_EQ(first["next"], id);
  EXPECT_EQ(connection.call("POST", "/v1/dead-letters/" + id + "/discard", R"({"reason": "-"})")
                .json()["discarded"],
            true);
  const Json second = connection.call("GET", page + "&after=" + id).json();
  EXPECT_GT(second["dead_letters"][0]["id"], id);
  const std::string next = second["next"];
  const Json third = connection.call("GET", page + "&after=" + next).json();
  EXPECT_GT(third["dead_letters"][0]["id"], next);
  EXPECT_EQ(connection.call("GET", page + "&after=tea").problem(), "invalid-request");
  EXPECT_EQ(connection.call("GET", "/v1/dead-letters/discarded").json()["discarded"].size(), 1U);
}

TEST(HttpOperatorTest, HealthAndReadinessReply) {
  const ServedSale served;
  EXPECT_EQ(served.call("GET", "/healthz").json()["status"], "ok");
  EXPECT_EQ(served.call("GET", "/readyz").json()["status"], "ready");
  EXPECT_EQ(served.call("GET", "/openapi.json").json()["openapi"], "3.1.0");
}

}  // namespace
}  // namespace rushgate
