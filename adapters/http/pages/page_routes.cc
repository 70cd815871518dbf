// What the pages need to know of the server.
#include <algorithm>
#include <string_view>

#include "adapters/http/route.h"
#include "adapters/http/sale_service.h"

namespace rushgate::http {
namespace {

constexpr std::string_view kTestProviderUrl =
    "/test-provider?order={order}&amount={amount_cents}&return={return}";

bool is_currency(std::string_view text) {
  return text.size() == 3 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

}  // namespace

ShownFacts::ShownFacts(const HttpServerOptions& options)
    : has_test_provider(options.payment_url == "test"),
      payment_url(has_test_provider ? std::string(kTestProviderUrl) : options.payment_url),
      currency(options.currency),
      demands_user_token(!options.user_key.empty()),
      demands_operator_token(!options.operator_token.empty()) {}

absl::Status check_facts(const HttpServerOptions& options) {
  const std::string& url = options.payment_url;
  const bool is_url = url.empty() || url == "test" || url.starts_with("https://") ||
                      url.starts_with("http://") ||
                      (url.starts_with("/") && !url.starts_with("//"));
  if (!is_url) {
    return absl::InvalidArgumentError("payment_url must begin with https://, http:// or /");
  }
  if (!options.currency.empty() && !is_currency(options.currency)) {
    return absl::InvalidArgumentError("currency must be three capitals, as in EUR");
  }
  return absl::OkStatus();
}

HttpAnswer get_server(RouteCall& call) {
  const ShownFacts& facts = call.service.facts();
  const auto or_null = [](const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
  };
  return json_answer({{"now_ms", call.sale().clock().now_ms()},
                      {"payment_url", or_null(facts.payment_url)},
                      {"currency", or_null(facts.currency)},
                      {"demands_user_token", facts.demands_user_token},
                      {"demands_operator_token", facts.demands_operator_token}});
}

}  // namespace rushgate::http
