// Who may use which route.
#include "adapters/http/access.h"

#include <memory>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include "tests/unit/adapters/http/served_sale.h"

namespace rushgate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string bearer(const std::string& token) { return "Authorization: Bearer " + token + "\r\n"; }

constexpr const char* kUserOne = R"({"user": 1})";

// ---- Tokens ----

TEST(HttpTokenTest, SignedUserIsFoundUntilExpiry) {
  for (const UserId& user : {UserId(42), UserId("ann.b"), UserId(-1)}) {
    const std::string token = sign_user(user, 1'000, "key");
    EXPECT_EQ(http::find_signed_user(token, "key", 999), user);
    EXPECT_EQ(http::find_signed_user(token, "key", 1'000), std::nullopt);
    EXPECT_EQ(http::find_signed_user(token, "other", 0), std::nullopt);
  }
}

TEST(HttpTokenTest, ChangedTokenIsForged) {
  const std::string token = sign_user(UserId("ann"), 1'000, "key");
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string changed = token;
    changed[i] = changed[i] == '1' ? '2' : '1';
    EXPECT_EQ(http::find_signed_user(changed, "key", 0), std::nullopt) << changed;
    EXPECT_EQ(http::find_signed_user(token.substr(0, i), "key", 0), std::nullopt);
  }
}

// ---- Operators ----

TEST(HttpAccessTest, OperatorRouteDemandsToken) {
  HttpServerOptions options;
  options.operator_token = "secret";
  const ServedSale served(options);
  for (const std::string& fields : {std::string(), bearer("secre"), bearer("secrett"),
                                    std::string("Authorization: Basic secret\r\n")}) {
    const HttpReply reply = served.call("GET", "/v1/dead-letters", "", fields);
    EXPECT_EQ(reply.problem(), "unauthorized") << fields;
    EXPECT_EQ(reply.field("www-authenticate"), "Bearer");
  }
  EXPECT_EQ(served.call("GET", "/v1/dead-letters", "", bearer("secret")).status, 200);
  EXPECT_EQ(served.call("GET", "/v1/vouchers").status, 200);
}

TEST(HttpAccessTest, WithoutTokenOnlyThisMachineOperates) {
  const ServedSale served;
  EXPECT_EQ(served.call("GET", "/v1/dead-letters").status, 200);
  EXPECT_EQ(served.call("GET", "/v1/dead-letters", "", "X-Forwarded-For: 1.2.3.4\r\n").problem(),
            "forbidden");
  // A page of another site whose name was made to lead here.
  HttpConnection connection = served.connect();
  connection.send("GET /v1/dead-letters HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  EXPECT_EQ(connection.receive().problem(), "forbidden");
}

// ---- Buyers ----

TEST(HttpAccessTest, UserBuysForItselfAlone) {
  HttpServerOptions options;
  options.user_key = "key";
  options.operator_token = "secret";
  const ServedSale served(options);
  served.publish(7, 5, 60'000);
  const std::string one = bearer(sign_user(1, kNeverEndsMs, "key"));
  const std::string two = bearer(sign_user(2, kNeverEndsMs, "key"));
  const std::string path = "/v1/vouchers/7/orders";
  EXPECT_EQ(served.call("POST", path, kUserOne).problem(), "unauthorized");
  EXPECT_EQ(served.call("POST", path, kUserOne, bearer(sign_user(1, 0, "key"))).problem(),
            "unauthorized");
  EXPECT_EQ(served.call("POST", path, kUserOne, two).problem(), "forbidden");
  const HttpReply bought = served.call("POST", path, kUserOne, one);
  ASSERT_EQ(bought.status, 201) << bought.body;
  ASSERT_TRUE(served.sale().drain().ok());
  const std::string order = bought.field("location");
  EXPECT_EQ(served.call("GET", order, "", one).status, 200);
  EXPECT_EQ(served.call("GET", order, "", two).problem(), "unknown-order");
  EXPECT_EQ(served.call("GET", "/v1/users/1/orders", "", one).status, 200);
  EXPECT_EQ(served.call("GET", "/v1/users/1/orders", "", two).problem(), "forbidden");
  EXPECT_EQ(served.call("POST", order + "/cancel", "", two).problem(), "unknown-order");
  EXPECT_EQ(
      served.call("POST", order + "/payments", R"({"payment": "p", "amount_cents": 500})", one)
          .problem(),
      "unauthorized");
  EXPECT_EQ(served.call("POST", order + "/cancel", "", one).json()["state"], "cancelled");
  EXPECT_EQ(served.call("POST", path, R"({"user": 3})", bearer("secret")).status, 201);
}

// ---- Pages of other sites ----

TEST(HttpAccessTest, LogNamesRequestAndNothingSecret) {
  std::ostringstream log;
  HttpServerOptions options;
  options.operator_token = "secret";
  options.user_key = "key";
  options.logger =
      std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::ostream_sink_mt>(log));
  options.logger->set_level(spdlog::level::debug);
  const ServedSale served(options);
  served.publish(7, 5);
  const std::string token = sign_user(UserId("anna"), kNeverEndsMs, "key");
  const HttpReply bought = served.call("POST", "/v1/vouchers/7/orders", R"({"user": "anna"})",
                                       bearer(token) + "Idempotency-Key: click-1\r\n");
  ASSERT_EQ(bought.status, 201) << bought.body;
  ASSERT_EQ(served.call("GET", "/v1/users/anna/orders?limit=5", "", bearer("secret")).status, 200);
  served.server().stop();
  const std::string text = log.str();
  EXPECT_THAT(text, HasSubstr("request " + bought.field("x-request-id") +
                              ": POST /v1/vouchers/{voucher}/orders: 201"));
  for (const std::string& secret :
       {token, std::string("secret"), std::string("click-1"), std::string("anna"),
        bought.json()["order"].get<std::string>()}) {
    EXPECT_THAT(text, Not(HasSubstr(secret)));
  }
}

TEST(HttpAccessTest, OtherSiteChangesNothing) {
  HttpServerOptions options;
  options.origins = {"https://shop.example"};
  const ServedSale served(options);
  served.publish(7, 5);
  const auto buy = [&](const std::string& fields) {
    return served.call("POST", "/v1/vouchers/7/orders", kUserOne, fields);
  };
  EXPECT_EQ(buy("Origin: https://evil.example\r\n").problem(), "forbidden");
  EXPECT_EQ(buy("Origin: null\r\n").problem(), "forbidden");
  EXPECT_EQ(buy("Sec-Fetch-Site: cross-site\r\n").problem(), "forbidden");
  EXPECT_EQ(buy("Content-Type: text/plain\r\n").problem(), "unsupported-media-type");
  EXPECT_EQ(buy("Content-Type: application/jsonx\r\n").problem(), "unsupported-media-type");
  EXPECT_EQ(
      buy("Origin: https://shop.example\r\nContent-Type: Application/JSON ; charset=utf-8\r\n")
          .status,
      201);
  EXPECT_EQ(buy("Origin: http://localhost\r\n").problem(), "limit-reached");
  const HttpReply reply = served.call("GET", "/v1/vouchers");
  EXPECT_EQ(reply.field("x-content-type-options"), "nosniff");
  EXPECT_EQ(reply.field("content-security-policy"), "default-src 'none'; frame-ancestors 'none'");
}

}  // namespace
}  // namespace rushgate
