// /openapi.json says what the server does: every route and status in it is exercised. Python's
// jsonschema checks that each request and each reply fits its schema.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "adapters/flash_sale/json_text.h"
#include "adapters/http/problem.h"
#include "adapters/http/route.h"
#include "engine/core/base/concat.h"
#include "tests/support/command_output.h"
#include "tests/support/patterns.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/adapters/http/served_sale.h"

namespace rushgate {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

constexpr const char* kTerms = R"({"stock": 1, "begin_ms": 0, "end_ms": "2999-01-01"})";
constexpr const char* kWrong = R"({"no such field": 1})";

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// The document, and what was seen of it.
class Description {
 public:
  explicit Description(const Json& document) : document_(document) {}

  /// Checks a reply of a route: "POST /v1/vouchers/{voucher}/close". Notes the reply, and the body of a
  /// request that was served, for find_misfits().
  void check(const std::string& route, const std::string& body, const HttpReply& reply) {
    SCOPED_TRACE(route + " " + std::to_string(reply.status) + " " + reply.body);
    const std::size_t space = route.find(' ');
    const std::string status = std::to_string(reply.status);
    const Json& operation =
        document_["paths"][route.substr(space + 1)][lower(route.substr(0, space))];
    const Json& replies = operation["responses"];
    ASSERT_TRUE(replies.contains(status));
    seen_.insert(route + " " + status);
    const Json& contents = replies[status]["content"];
    ASSERT_TRUE(contents.contains(reply.field("content-type")));
    if (reply.field("content-type").starts_with("text/")) return;
    note(route + " " + status, contents[reply.field("content-type")]["schema"], reply.json());
    if (reply.status < 300 && !body.empty() && operation.contains("requestBody")) {
      note(route, operation["requestBody"]["content"]["application/json"]["schema"],
           parse_trusted_json(body));
    }
    if (reply.status >= 400) {
      EXPECT_THAT(replies[status]["description"].get<std::string>(),
                  HasSubstr("`" + reply.problem() + "`"));
    }
  }

  /// Notes a value that must fit the schema.
  void note(const std::string& where, const Json& schema, const Json& value) {
    samples_.push_back({{"where", where}, {"schema", schema}, {"value", value}});
  }
  /// Returns what does not fit; "<count> values" if everything does.
  [[nodiscard]] std::string find_misfits() const {
    const TemporaryDirectory directory;
    const std::string document = (directory.path() / "document.json").string();
    const std::string samples = (directory.path() / "samples.json").string();
    std::ofstream(document) << document_;
    std::ofstream(samples) << samples_;
    return testing::output_of("/usr/bin/python3 " RUSHGATE_ROOT
                              "/tests/unit/adapters/http/validate.py " +
                              document + " " + samples);
  }

  /// Returns the statuses of the document that were not seen, except for failures of the server.
  [[nodiscard]] std::vector<std::string> unseen() const {
    std::vector<std::string> unseen;
    for (const auto& [path, methods] : document_["paths"].items()) {
      for (const auto& [method, operation] : methods.items()) {
        std::string capital = method;
        std::transform(capital.begin(), capital.end(), capital.begin(), ::toupper);
        for (const auto& [status, reply] : operation["responses"].items()) {
          const std::string name = concat(capital, " ", path, " ", status);
          if (status < "500" && !seen_.contains(name)) unseen.push_back(name);
        }
      }
    }
    return unseen;
  }

 private:
  const Json document_;
  std::set<std::string> seen_;
  Json samples_ = Json::array();
};

/// A server that demands tokens, and one that has none.
class OpenapiTest : public ::testing::Test {
 protected:
  static HttpServerOptions with_tokens() {
    HttpServerOptions options;
    options.operator_token = "secret";
    options.user_key = "key";
    options.backups_dir = "/dev/null/backups";  // where none can be made
    return options;
  }

  /// Sends a request with the operators' token, and checks the reply.
  HttpReply call(const std::string& route, const std::string& target, const std::string& body = {},
                 const std::string& fields = "Authorization: Bearer secret\r\n") {
    HttpConnection connection = served_.connect();
    const std::string method = route.substr(0, route.find(' '));
    HttpReply reply = connection.call(method, target, body, fields);
    description_.check(route, body, reply);
    return reply;
  }

  /// Replaces the parts in braces.
  static std::string target_of(std::string path) {
    for (const char* const part : {"{voucher}", "{order}", "{user}"}) {
      const std::size_t at = path.find(part);
      if (at != std::string::npos) path.replace(at, std::string(part).size(), "999");
    }
    return testing::replace_all(path, "[{][a-z]+[}]", "1-1");
  }

  const ServedSale served_{with_tokens()};
  const ServedSale open_;
  Description description_{open_.call("GET", "/openapi.json").json()};
};

TEST_F(OpenapiTest, EveryRouteAndStatusIsExercised) {
  for (const http::Route& route : http::routes()) {
    const std::string name = std::string(route.method) + " " + std::string(route.path);
    const std::string target = target_of(std::string(route.path));
    if (route.access != http::Access::kAnyone) {
      call(name, target, "", "");  // 401
      HttpConnection connection = open_.connect();
      description_.check(name, "",
                         connection.call(std::string(route.method), target, "",
                                         route.access == http::Access::kOperator
                                             ? "Forwarded: for=1.2.3.4\r\n"
                                             : "Origin: https://evil.example\r\n"));
    }
    call(name, target + "?unknown=1");
    if (!route.is_write()) continue;
    call(name, target, "{}", "Authorization: Bearer secret\r\nContent-Type: text/plain\r\n");
    call(name, target, kWrong);
  }
  // Reads of buyers, with another user's token.
  const std::string other = "Authorization: Bearer " + sign_user(5, kNeverEndsMs, "key") + "\r\n";
  call("GET /v1/users/{user}/orders", "/v1/users/1/orders", "", other);

  // Vouchers
  call("PUT /v1/vouchers/{voucher}", "/v1/vouchers/7", kTerms);
  call("PUT /v1/vouchers/{voucher}", "/v1/vouchers/7", kTerms);
  call("PUT /v1/vouchers/{voucher}", "/v1/vouchers/7", kTerms,
       "Authorization: Bearer secret\r\nIf-None-Match: *\r\n");
  call("GET /v1/vouchers", "/v1/vouchers");
  call("GET /v1/vouchers/{voucher}", "/v1/vouchers/7");
  call("GET /v1/vouchers/{voucher}", "/v1/vouchers/8");
  const Voucher paid = {.id = 9, .stock = 9, .price_cents = 5, .payment_ms = 60'000};
  ASSERT_TRUE(served_.sale().publish(paid).ok());
  const Voucher listed = {.id = 10, .stock = 1, .waiting_max = 5};
  ASSERT_TRUE(served_.sale().publish(listed).ok());

  // Buying
  const std::string buy = "POST /v1/vouchers/{voucher}/orders";
  const std::string key = "Authorization: Bearer secret\r\nIdempotency-Key: a\r\n";
  call(buy, "/v1/vouchers/7/orders", R"({"user": 1})", key);
  call(buy, "/v1/vouchers/7/orders", R"({"user": 1})", key);
  call(buy, "/v1/vouchers/7/orders", R"({"user": 2})", key);
  call(buy, "/v1/vouchers/7/orders", R"({"user": 2})");
  call(buy, "/v1/vouchers/8/orders", R"({"user": 2})");
  call("PUT /v1/vouchers/{voucher}", "/v1/vouchers/7",
       R"({"stock": 0, "begin_ms": 0, "end_ms": "2999-01-01"})");
  const std::string wait = "POST /v1/vouchers/{voucher}/waiting";
  call(wait, "/v1/vouchers/8/waiting", R"({"user": 2})");
  call(wait, "/v1/vouchers/10/waiting", R"({"user": 2})");
  call(buy, "/v1/vouchers/10/orders", R"({"user": 1})");
  call(wait, "/v1/vouchers/10/waiting", R"({"user": 2})");
  call("GET /v1/vouchers/{voucher}/waiting", "/v1/vouchers/10/waiting");
  call("GET /v1/vouchers/{voucher}/waiting", "/v1/vouchers/99/waiting");
  call("DELETE /v1/vouchers/{voucher}/waiting/{user}", "/v1/vouchers/10/waiting/2");

  // The entrance
  const std::string enter = "POST /v1/vouchers/{voucher}/entrance";
  const Voucher guarded = {.id = 11, .stock = 9, .needs_token = true};
  ASSERT_TRUE(served_.sale().publish(guarded).ok());
  call(enter, "/v1/vouchers/9/entrance", R"({"user": 1})");
  call(enter, "/v1/vouchers/99/entrance", R"({"user": 1})");
  std::set<int> seen;
  for (int user = 1; seen.size() < 2; ++user) {
    const std::string body = "{\"user\": " + std::to_string(user) + "}";
    seen.insert(call(enter, "/v1/vouchers/11/entrance", body).status);
  }

  // Orders
  const auto buy_paid = [&](const std::string& user) {
    const HttpReply reply = call(buy, "/v1/vouchers/9/orders", "{\"user\": " + user + "}");
    EXPECT_TRUE(served_.sale().drain().ok());
    return reply.field("location");
  };
  const std::string payment = R"({"payment": "p1", "amount_cents": 5})";
  const std::string pay = "POST /v1/orders/{order}/payments";
  const std::string order = buy_paid("1");
  call("POST /v1/orders/{order}/use", order + "/use");
  call("POST /v1/orders/{order}/refund", order + "/refund");
  call(pay, order + "/payments", payment);
  call("POST /v1/orders/{order}/cancel", order + "/cancel");
  const std::string cancelled = buy_paid("2");
  call("POST /v1/orders/{order}/cancel", cancelled + "/cancel", R"({"reason": "no"})");
  call(pay, cancelled + "/payments", R"({"payment": "p2", "amount_cents": 5})");
  ASSERT_TRUE(served_.sale().drain().ok());
  call("POST /v1/orders/{order}/use", order + "/use");
  call("POST /v1/orders/{order}/refund", order + "/refund");
  ASSERT_TRUE(served_.sale().drain().ok());
  call("GET /v1/orders/{order}", order);
  call("GET /v1/users/{user}/orders", "/v1/users/1/orders");
  for (const char* const change : {"/payments", "/cancel", "/use", "/refund"}) {
    const bool is_payment = std::string(change) == "/payments";
    const std::string body = is_payment ? R"({"payment": "p9", "amount_cents": 5})" : "";
    call("POST /v1/orders/{order}" + std::string(change), "/v1/orders/999" + std::string(change),
         body);
  }
  call("GET /v1/orders/{order}", "/v1/orders/999");
  call("GET /v1/orders", "/v1/orders?state=paid&user=1&voucher=9&reference=x&limit=1");
  call("GET /v1/changes", "/v1/changes?voucher=9&order=" + order.substr(11));
  call("GET /v1/counts", "/v1/counts");

  // Payments
  call("GET /v1/payments", "/v1/payments");
  const std::string confirm = "POST /v1/payments/{payment}/confirm-refund";
  call(confirm, "/v1/payments/p2/confirm-refund");
  call(confirm, "/v1/payments/none/confirm-refund");
  call(pay, buy_paid("3") + "/payments", R"({"payment": "p3", "amount_cents": 5})");
  ASSERT_TRUE(served_.sale().drain().ok());
  call(confirm, "/v1/payments/p3/confirm-refund");

  // Operating
  call("GET /v1/audit", "/v1/audit");
  call("POST /v1/audit", "/v1/audit");
  while (call("GET /v1/audit", "/v1/audit").json()["state"] == "running") continue;
  call("GET /v1/backup", "/v1/backup");
  call("POST /v1/backup", "/v1/backup");
  while (call("GET /v1/backup", "/v1/backup").json()["state"] == "running") continue;
  HttpConnection without_backups = open_.connect();
  description_.check("POST /v1/backup", "", without_backups.call("POST", "/v1/backup"));
  call("GET /v1/dead-letters", "/v1/dead-letters");
  call("GET /v1/dead-letters/discarded", "/v1/dead-letters/discarded");
  call("POST /v1/dead-letters/{letter}/retry", "/v1/dead-letters/1-1/retry");
  call("POST /v1/dead-letters/{letter}/discard", "/v1/dead-letters/1-1/discard",
       R"({"reason": "no"})");
  for (const char* const path :
       {"/v1/statistics", "/metrics", "/healthz", "/readyz", "/v1/server", "/openapi.json"}) {
    call("GET " + std::string(path), path);
  }
  call("GET /v1/events", "/v1/events");
  call("GET /v1/vouchers/events", "/v1/vouchers/events");

  // The end of a sale
  call("POST /v1/vouchers/{voucher}/stock", "/v1/vouchers/10/stock", R"({"delta": 3})");
  call("POST /v1/vouchers/{voucher}/stock", "/v1/vouchers/10/stock", R"({"delta": -4})");
  call("POST /v1/vouchers/{voucher}/stock", "/v1/vouchers/8/stock", R"({"delta": 3})");
  call("POST /v1/vouchers/{voucher}/archive", "/v1/vouchers/10/archive");
  call("POST /v1/vouchers/{voucher}/archive", "/v1/vouchers/8/archive");
  call("POST /v1/vouchers/{voucher}/close", "/v1/vouchers/10/close");
  call("POST /v1/vouchers/{voucher}/close", "/v1/vouchers/8/close");
  ASSERT_TRUE(served_.sale().drain().ok());
  call("POST /v1/vouchers/{voucher}/archive", "/v1/vouchers/10/archive", R"({"delete": true})");
  call("POST /v1/vouchers/{voucher}/close", "/v1/vouchers/10/close");
  call("POST /v1/vouchers/{voucher}/refund", "/v1/vouchers/8/refund");
  call("POST /v1/vouchers/{voucher}/refund", "/v1/vouchers/9/refund");

  EXPECT_THAT(description_.unseen(), IsEmpty());
  EXPECT_THAT(description_.find_misfits(), MatchesRegex("[0-9]+ values\n"));
}

TEST_F(OpenapiTest, EveryExampleIsTaken) {
  const Json document = open_.call("GET", "/openapi.json").json();
  for (const http::Route& route : http::routes()) {
    if (route.body.empty()) continue;
    const std::string name = std::string(route.method) + " " + std::string(route.path);
    const Json& schema = document["components"]["schemas"][std::string(route.body)];
    ASSERT_FALSE(schema["examples"].empty()) << route.body;
    for (const Json& example : schema["examples"]) {
      description_.note(std::string(route.body), schema, example);
      const HttpReply reply = call(name, target_of(std::string(route.path)), example.dump());
      EXPECT_NE(reply.problem(), "invalid-request") << name << reply.body;
    }
  }
  EXPECT_THAT(description_.find_misfits(), MatchesRegex("[0-9]+ values\n"));
}

TEST_F(OpenapiTest, ValidatorFindsMisfits) {
  const Json schema = {{"$ref", "#/components/schemas/Health"}};
  description_.note("good", schema, {{"status", "ok"}});
  EXPECT_EQ(description_.find_misfits(), "1 values\n");
  description_.note("bad", schema, {{"status", "ill"}});
  EXPECT_THAT(description_.find_misfits(), HasSubstr("bad: $.status: 'ill' is not one of"));
}

TEST(OpenapiPageTest, PageHasEveryRouteAndProblem) {
  std::ifstream in(RUSHGATE_ROOT "/docs/http.md");
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  for (const http::Route& route : http::routes()) {
    const std::string path(route.path);
    const std::string place = path.substr(0, path.find("/discard"));
    EXPECT_THAT(page, HasSubstr(std::string(route.method) + " " + place));
  }
  for (const http::ProblemType& type : http::kProblemTypes) {
    EXPECT_THAT(page, HasSubstr("`" + std::string(type.name) + "`"));
    EXPECT_THAT(page, HasSubstr(std::to_string(type.status)));
  }
}

}  // namespace
}  // namespace rushgate
