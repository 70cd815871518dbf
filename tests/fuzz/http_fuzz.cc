// A stranger's HTTP request, after its header was parsed: every one gets a reply that is documented, and
// nothing is oversold.
#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "adapters/flash_sale/json_text.h"
#include "adapters/http/sale_service.h"
#include "tests/fuzz/fuzz.h"
#include <rushgate/flash_sale.h>
#include <rushgate/http_server.h>

namespace rushgate {
namespace {

constexpr VoucherId kVoucher = 7;
constexpr std::int64_t kStock = 3;

/// A sale that lives as long as the process.
struct Served {
  Served() : service(*sale, HttpServerOptions{}, [](HttpFigures& /*figures*/) {}) {
    fuzz::expect(
        sale->publish({.id = kVoucher, .stock = kStock, .price_cents = 1, .payment_ms = 1'000})
            .ok(),
        "the voucher is published");
  }

  const std::unique_ptr<FlashSale> sale = FlashSale::open("memory:").value();
  http::SaleService service;
};

Served& served() {
  static Served all;
  return all;
}

/// Cuts a line off. The last one has no line end.
std::string cut_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string line(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

/// The lines of an input are the method, the target and some header fields. The rest is the body.
http::HttpCall call_in(std::string_view text) {
  http::HttpCall call;
  call.host = "localhost";
  call.is_from_loopback = true;
  call.content_type = "application/json";
  call.method = cut_line(text);
  call.target = cut_line(text);
  call.idempotency_key = cut_line(text);
  call.if_match = cut_line(text);
  call.if_none_match = cut_line(text);
  call.last_event_id = cut_line(text);
  call.body = std::string(text);
  return call;
}

http::HttpAnswer answer_to(http::HttpCall call) {
  http::HttpAnswer answer;
  std::atomic<bool> is_done{false};
  served().service.handle(std::move(call), [&](http::HttpAnswer given) {
    answer = std::move(given);
    is_done = true;
    is_done.notify_one();
  });
  is_done.wait(false);
  return answer;
}

void check_answer(const http::HttpAnswer& answer) {
  fuzz::expect(answer.status >= 200 && answer.status < 600, "the status is one");
  if (answer.events != nullptr) return;
  const bool is_json = answer.type.find("json") != std::string::npos;
  if (!is_json) {
    fuzz::expect(answer.status == 200, "a refusal is JSON");  // a page, or the metrics
    return;
  }
  const auto json = parse_trusted_json(answer.body);
  fuzz::expect(json.is_object(), "the body is an object");
  if (answer.status < 400) return;
  fuzz::expect(answer.type == "application/problem+json", "a refusal is a problem");
  const bool is_documented =
      std::any_of(http::kProblemTypes.begin(), http::kProblemTypes.end(), [&](const auto& type) {
        return json["type"] == std::string(http::kProblemUri) + std::string(type.name) &&
               json["status"] == type.status && answer.status == type.status;
      });
  fuzz::expect(is_documented, "the problem is documented");
  for (const auto& [name, value] : answer.fields) {
    fuzz::expect(value.find_first_of("\r\n") == std::string::npos, "a header field is one line");
  }
}

}  // namespace
}  // namespace rushgate

RUSHGATE_FUZZER(http) {
  using namespace rushgate;
  const std::string_view text = fuzz::to_text(data, size);
  if (text.size() > HttpServer::kBodyBytesMax) return 0;
  // Audits and archives take longer than all others together, and take nothing from a request.
  if (text.find("audit") != std::string_view::npos) return 0;
  check_answer(answer_to(call_in(text)));
  return 0;
}
