#include "apps/demo/demo_pages.h"

#include <string>

#include "apps/say.h"
#include "engine/core/base/status_macros.h"

namespace rushgate {
namespace {

constexpr std::int64_t kQuarterHourMs = 15 * 60 * 1'000;

Voucher voucher_for_visitors() {
  Voucher voucher{.id = 5, .title = "A seat for you, to be paid in the browser", .stock = 200};
  voucher.price_cents = 2'500;
  voucher.payment_ms = kQuarterHourMs;
  voucher.limits.per_user = 4;
  voucher.waiting_max = 100;
  return voucher;
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> serve_demo(FlashSale& sale, HttpServerOptions& options,
                                                       bool is_first) {
  RETURN_IF_ERROR(sale.publish_if_new(voucher_for_visitors()).status());
  options.payment_url = "test";
  options.currency = "EUR";
  auto server = HttpServer::start(sale, options);
  if (!server.ok()) return server;
  options.port = (*server)->port();
  if (!is_first) return server;
  const bool is_v6 = options.bind_address.find(':') != std::string::npos;
  const std::string host = is_v6 ? "[" + options.bind_address + "]" : options.bind_address;
  say("buy at http://{0}:{1}/, look on at http://{0}:{1}/operator\n", host, options.port);
  return server;
}

}  // namespace rushgate
