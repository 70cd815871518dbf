// A sale in memory behind an HTTP server, for tests.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/http_client.h"
#include <rushgate/flash_sale.h>
#include <rushgate/http_server.h>

namespace rushgate {

using testing::HttpConnection;
using testing::HttpReply;
using Json = nlohmann::ordered_json;

class ServedSale {
 public:
  explicit ServedSale(HttpServerOptions options = {}, FlashSaleOptions sale = {},
                      const std::string& place = "memory:") {
    sale.names_order_at_limit = true;
    sale_ = FlashSale::open(place, sale).value();
    options.port = 0;
    server_ = HttpServer::start(*sale_, std::move(options)).value();
  }

  [[nodiscard]] FlashSale& sale() const { return *sale_; }
  [[nodiscard]] HttpServer& server() const { return *server_; }
  [[nodiscard]] HttpConnection connect() const { return HttpConnection(server_->port()); }
  /// Sends a request on a connection of its own.
  [[nodiscard]] HttpReply call(const std::string& method, const std::string& target,
                               const std::string& body = {}, const std::string& fields = {}) const {
    return connect().call(method, target, body, fields);
  }

  /// Publishes a voucher of this id, which demands payment if `payment_ms` is not 0.
  void publish(VoucherId id, std::int64_t stock, std::int64_t payment_ms = 0) const {
    const Voucher voucher = {
        .id = id, .title = "Tea", .stock = stock, .price_cents = 500, .payment_ms = payment_ms};
    ASSERT_TRUE(sale_->publish(voucher).ok());
  }
  /// Buys one, waits until it is stored, and returns the order's id.
  [[nodiscard]] std::string buy(VoucherId voucher, const std::string& user) const {
    const HttpReply reply = call("POST", "/v1/vouchers/" + std::to_string(voucher) + "/orders",
                                 R"({"user": ")" + user + "\"}");
    EXPECT_EQ(reply.status, 201) << reply.body;
    EXPECT_TRUE(sale_->drain().ok());
    return reply.json().value("order", "");
  }

 private:
  std::unique_ptr<FlashSale> sale_;
  std::unique_ptr<HttpServer> server_;  // stops first
};

}  // namespace rushgate
