#include "apps/service/service_client.h"

#include <chrono>
#include <cstdlib>
#include <optional>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>

#include "engine/core/base/numbers.h"

namespace rushgate {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace beast_http = boost::beast::http;

using HttpRequest = beast_http::request<beast_http::string_body>;
using HttpResponse = beast_http::response<beast_http::string_body>;

constexpr std::string_view kProblemPrefix = "urn:rushgate:problem:";
constexpr std::uint64_t kResponseBytesMax = std::uint64_t{64} * 1'024 * 1'024;

/// One request and its response. Any step that fails ends it.
class HttpExchange {
 public:
  explicit HttpExchange(const HttpRequest& request) : request_(request) {
    parser_.body_limit(kResponseBytesMax);
  }

  boost::system::error_code run(const std::string& host, const std::string& port) {
    constexpr std::chrono::seconds kPatience{30};
    boost::system::error_code error;
    const auto addresses = asio::ip::tcp::resolver(io_).resolve(host, port, error);
    if (error) return error;
    stream_.expires_after(kPatience);
    stream_.async_connect(addresses, [this](const boost::system::error_code& failed, const auto&) {
      if (!go_on(failed)) return;
      beast_http::async_write(stream_, request_, [this](const auto& unsent, std::size_t) {
        if (!go_on(unsent)) return;
        beast_http::async_read(stream_, buffer_, parser_,
                               [this](const auto& unread, std::size_t) { go_on(unread); });
      });
    });
    io_.run();
    return error_;
  }
  [[nodiscard]] const HttpResponse& response() const { return parser_.get(); }

 private:
  bool go_on(const boost::system::error_code& error) {
    error_ = error;
    return !error;
  }

  const HttpRequest& request_;
  asio::io_context io_;
  beast::tcp_stream stream_{io_};
  beast::flat_buffer buffer_;
  beast_http::response_parser<beast_http::string_body> parser_;
  boost::system::error_code error_;
};

absl::StatusCode code_of(unsigned status, std::string_view problem) {
  if (problem == "outcome-unknown" || problem == "overloaded" || problem == "unavailable") {
    return absl::StatusCode::kUnavailable;
  }
  if (problem == "refused") return absl::StatusCode::kFailedPrecondition;
  if (problem == "version-changed") return absl::StatusCode::kAlreadyExists;
  if (problem == "unauthorized" || problem == "forbidden") {
    return absl::StatusCode::kPermissionDenied;
  }
  constexpr unsigned kBadRequest = 400;
  constexpr unsigned kNotFound = 404;
  if (status == kBadRequest) return absl::StatusCode::kInvalidArgument;
  if (status == kNotFound) return absl::StatusCode::kNotFound;
  return absl::StatusCode::kUnknown;
}

}  // namespace

std::string ServiceAnswer::problem() const {
  if (!json.is_object()) return {};
  const std::string type = json.value("type", std::string());
  return type.starts_with(kProblemPrefix) ? type.substr(kProblemPrefix.size()) : std::string();
}

std::string ServiceAnswer::detail() const {
  if (!json.is_object()) return {};
  return json.value("detail", json.value("title", std::string()));
}

absl::StatusOr<ServiceClient> ServiceClient::of_url(const std::string& url) {
  constexpr std::string_view kScheme = "http://";
  const auto refuse = [&url] {
    return absl::InvalidArgumentError(
        fmt::format("'{}' is no address of a service, as http://host:port is", url));
  };
  if (!url.starts_with(kScheme)) return refuse();
  std::string place = url.substr(kScheme.size());
  if (place.ends_with('/')) place.pop_back();
  std::string port = "80";
  const std::size_t colon = place.rfind(':');
  if (colon != std::string::npos && place.find(']', colon) == std::string::npos) {
    port = place.substr(colon + 1);
    place.resize(colon);
  }
  constexpr std::uint64_t kPortMax = 65'535;
  const auto number = parse_uint64(port);
  if (!number || *number == 0 || *number > kPortMax) return refuse();
  if (place.starts_with('[') && place.ends_with(']')) place = place.substr(1, place.size() - 2);
  if (place.empty() || place.find_first_of("/?#@[] ") != std::string::npos) return refuse();
  const char* const token = std::getenv(kTokenVariable);
  return ServiceClient(url, place, port, token == nullptr ? "" : token);
}

absl::StatusOr<ServiceAnswer> ServiceClient::call(const std::string& method,
                                                  const std::string& target, const Json& body,
                                                  const Fields& fields) const {
  constexpr unsigned kVersion = 11;
  HttpRequest request(beast_http::string_to_verb(method), target, kVersion);
  const bool is_ipv6 = host_.find(':') != std::string::npos;
  request.set(beast_http::field::host,
              is_ipv6 ? fmt::format("[{}]:{}", host_, port_) : fmt::format("{}:{}", host_, port_));
  request.set(beast_http::field::connection, "close");
  if (!token_.empty()) request.set(beast_http::field::authorization, "Bearer " + token_);
  for (const auto& [name, value] : fields) request.set(name, value);
  if (!body.is_null()) {
    request.set(beast_http::field::content_type, "application/json");
    request.body() = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  request.prepare_payload();
  HttpExchange exchange(request);
  if (const auto error = exchange.run(host_, port_)) {
    return absl::UnavailableError(fmt::format("{}: {}", url_, error.message()));
  }
  const HttpResponse& response = exchange.response();
  ServiceAnswer answer{.status = response.result_int(),
                       .json = Json::parse(response.body(), nullptr, false)};
  if (!answer.json.is_discarded()) return answer;
  return absl::UnknownError(
      fmt::format("{}: the reply to {} {} is no JSON: is this a service of "
                  "a sale?",
                  url_, method, target));
}

absl::StatusOr<ServiceClient::Json> ServiceClient::get(const std::string& target) const {
  auto answer = call("GET", target);
  if (!answer.ok()) return answer.status();
  if (!answer->is_success()) return error_of(*answer);
  return std::move(answer->json);
}

absl::Status ServiceClient::error_of(const ServiceAnswer& answer) const {
  const std::string detail = answer.detail();
  return {code_of(answer.status, answer.problem()),
          fmt::format("{}: {}", url_,
                      detail.empty() ? fmt::format("status {}", answer.status) : detail)};
}

}  // namespace rushgate
