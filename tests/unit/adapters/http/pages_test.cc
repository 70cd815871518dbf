// The pages for browsers, as files: tests/browser has what a browser does with them.
#include "adapters/http/pages/pages.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/adapters/http/served_sale.h"

namespace rushgate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(PagesTest, BuyersPageAllowsOnlyOneScriptInline) {
  const ServedSale served;
  const HttpReply page = served.call("GET", "/?kiosk");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.field("content-type"), "text/html; charset=utf-8");
  EXPECT_THAT(page.field("content-security-policy"),
              AllOf(StartsWith("default-src 'none'; script-src 'self' 'sha256-"),
                    HasSubstr("='; style-src 'self';"),
                    HasSubstr("require-trusted-types-for 'script'"), Not(HasSubstr("unsafe"))));
  EXPECT_THAT(page.body, AllOf(StartsWith("<!doctype html>"), HasSubstr("<script>// Stands in"),
                               Not(HasSubstr("data-inline"))));
}

TEST(PagesTest, EveryFileIsServedWithItsType) {
  const ServedSale served;
  for (const EmbeddedFile& file : page_files()) {
    const std::string name(file.name);
    if (name.ends_with(".html")) continue;
    SCOPED_TRACE(name);
    const HttpReply part = served.call("GET", "/pages/" + name);
    EXPECT_EQ(part.body, file.text);
    EXPECT_EQ(part.field("content-type").find("octet-stream"), std::string::npos);
  }
}

TEST(PagesTest, UnchangedPageIsNotSentAgain) {
  const ServedSale served;
  const std::string etag = served.call("GET", "/").field("etag");
  const HttpReply again = served.call("GET", "/", {}, "If-None-Match: " + etag + "\r\n");
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
  EXPECT_EQ(again.field("etag"), etag);
}

TEST(PagesTest, OtherMethodOrNameIsRefused) {
  const ServedSale served;
  EXPECT_EQ(served.call("POST", "/", "{}", "Content-Type: application/json\r\n").status, 405);
  for (const char* const path : {"/buyer", "/pages/", "/pages/none.js", "/pages/../pages.cc"}) {
    EXPECT_EQ(served.call("GET", path).status, 404) << path;
  }
}

TEST(PagesTest, TestProviderExistsOnlyWhereItIsAsked) {
  EXPECT_EQ(ServedSale().call("GET", "/test-provider").status, 404);
  const ServedSale demo(HttpServerOptions{.payment_url = "test"});
  EXPECT_EQ(demo.call("GET", "/test-provider").status, 200);
  EXPECT_THAT(demo.call("GET", "/v1/server").json()["payment_url"].get<std::string>(),
              HasSubstr("{order}"));
}

TEST(PagesTest, InvalidPaymentUrlOrCurrencyIsRefused) {
  const auto sale = FlashSale::open("memory:").value();
  for (const char* const url : {"javascript:alert(1)", "//other.example", "pay.example"}) {
    const auto server = HttpServer::start(*sale, {.port = 0, .payment_url = url});
    EXPECT_THAT(std::string(server.status().message()), HasSubstr("payment_url")) << url;
  }
  const auto server = HttpServer::start(*sale, {.port = 0, .currency = "euro"});
  EXPECT_THAT(std::string(server.status().message()), HasSubstr("currency"));
}

}  // namespace
}  // namespace rushgate
