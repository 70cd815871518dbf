#include "apps/service/service_client.h"

#include <chrono>
#include <cstdlib>
#include <optional>
#include <type_traits>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <fmt/format.h>

#include "adapters/flash_sale/json_text.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"

namespace rushgate {
namespace {

namespace asio = boost::asio;
namespace beast_http = boost::beast::http;

using boost::system::error_code;
using HttpResponse = beast_http::response<beast_http::string_body>;

constexpr std::string_view kProblemPrefix = "urn:rushgate:problem:";
constexpr std::uint64_t kResponseBytesMax = std::uint64_t{64} * 1'024 * 1'024;

using TlsStream = asio::ssl::stream<asio::ip::tcp::socket>;

/// One request and its response. Any step that fails ends it. Beast parses the response; its operations on
/// streams would cost the compiler more than the rest of the program's unit.
template <class Stream>
class HttpExchange {
 public:
  template <class... Tls>
  explicit HttpExchange(const std::string& request, Tls&... tls)
      : request_(request), stream_(io_, tls...) {
    parser_.body_limit(kResponseBytesMax);
    parser_.eager(true);
  }

  error_code run(const std::string& host, const std::string& port, std::chrono::seconds patience) {
    error_code error;
    const auto addresses = asio::ip::tcp::resolver(io_).resolve(host, port, error);
    if (!error) prepare(host, error);
    if (error) return error;
    asio::async_connect(stream_.lowest_layer(), addresses,
                        [this](const error_code& failed, const auto&) {
                          if (go_on(failed)) shake_hands();
                        });
    io_.run_for(patience);
    return io_.stopped() ? error_ : asio::error::timed_out;
  }
  [[nodiscard]] const HttpResponse& response() const { return parser_.get(); }

 private:
  static constexpr bool kIsTls = std::is_same_v<Stream, TlsStream>;

  /// Names the host, which the certificate must be for.
  void prepare(const std::string& host, error_code& error) {
    if constexpr (kIsTls) {
      stream_.set_verify_callback(asio::ssl::host_name_verification(host), error);
      asio::ip::make_address(host, error);  // an address is no name
      if (error) {  // SSL_set_tlsext_host_name(), which is a macro with a cast
        ::SSL_ctrl(stream_.native_handle(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                   const_cast<char*>(host.c_str()));
      }
      error = {};
    }
  }

  void shake_hands() {
    if constexpr (kIsTls) {
      stream_.async_handshake(asio::ssl::stream_base::client, [this](const error_code& failed) {
        if (go_on(failed)) send();
      });
    } else {
      send();
    }
  }

  void send() {
    asio::async_write(stream_, asio::buffer(request_),
                      [this](const error_code& failed, std::size_t) {
                        if (go_on(failed)) receive();
                      });
  }

  void receive() {
    constexpr std::size_t kPortion = 65'536;
    stream_.async_read_some(received_.prepare(kPortion),
                            [this](const error_code& failed, std::size_t bytes) {
                              received_.commit(bytes);
                              if (failed == asio::error::eof && parser_.got_some()) {
                                parser_.put_eof(error_);
                              } else if (go_on(failed) && parse()) {
                                receive();
                              }
                            });
  }

  /// Returns true if the response goes on.
  bool parse() {
    while (received_.size() > 0 && !parser_.is_done()) {
      received_.consume(parser_.put(received_.data(), error_));
      if (error_ == beast_http::error::need_more) {
        error_ = {};
        return true;
      }
      if (error_) return false;
    }
    return !parser_.is_done();
  }

  bool go_on(const error_code& error) {
    error_ = error;
    return !error;
  }

  const std::string& request_;
  asio::io_context io_;
  Stream stream_;
  boost::beast::flat_buffer received_;
  beast_http::response_parser<beast_http::string_body> parser_;
  error_code error_;
};

/// Returns what a client of TLS trusts.
absl::StatusOr<std::shared_ptr<asio::ssl::context>> trust(const std::filesystem::path& ca) {
  using asio::ssl::context;
  auto tls = std::make_shared<context>(context::tls_client);
  boost::system::error_code error;
  tls->set_options(context::default_workarounds | context::no_sslv2 | context::no_sslv3 |
                       context::no_tlsv1 | context::no_tlsv1_1,
                   error);
  if (!error) tls->set_verify_mode(asio::ssl::verify_peer, error);
  if (!error && ca.empty()) tls->set_default_verify_paths(error);
  if (!error && !ca.empty()) tls->load_verify_file(ca.string(), error);
  if (!error) return tls;
  return absl::InvalidArgumentError(fmt::format("{}: {}", ca.string(), error.message()));
}

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

absl::StatusOr<ServiceClient> ServiceClient::of_url(const std::string& url,
                                                    const std::filesystem::path& tls_ca,
                                                    const std::string& token) {
  const bool is_tls = url.starts_with("https://");
  const std::string_view scheme = is_tls ? "https://" : "http://";
  const auto refuse = [&url] {
    return absl::InvalidArgumentError(
        fmt::format("'{}' is no address of a service, as http[s]://host:port is", url));
  };
  if (!url.starts_with(scheme)) return refuse();
  std::string place = url.substr(scheme.size());
  if (place.ends_with('/')) place.pop_back();
  std::string port = is_tls ? "443" : "80";
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
  const char* const variable = std::getenv(kTokenVariable);
  ServiceClient client;
  client.url_ = url;
  client.host_ = place;
  client.port_ = port;
  client.token_ = !token.empty() || variable == nullptr ? token : variable;
  if (!is_tls) return client;
  ASSIGN_OR_RETURN(client.tls_, trust(tls_ca));
  return client;
}

absl::StatusOr<ServiceAnswer> ServiceClient::call(const std::string& method,
                                                  const std::string& target, const Json& body,
                                                  const Fields& fields,
                                                  std::chrono::seconds patience) const {
  const bool is_ipv6 = host_.find(':') != std::string::npos;
  std::string request = concat(method, " ", target, " HTTP/1.1\r\nHost: ", is_ipv6 ? "[" : "",
                               host_, is_ipv6 ? "]" : "", ":", port_, "\r\nConnection: close\r\n");
  if (!token_.empty()) request += concat("Authorization: Bearer ", token_, "\r\n");
  for (const auto& [name, value] : fields) request += concat(name, ": ", value, "\r\n");
  std::string text;
  if (!body.is_null()) {
    text = body.dump(-1, ' ', false, Json::error_handler_t::replace);
    request += "Content-Type: application/json\r\n";
  }
  request += concat("Content-Length: ", text.size(), "\r\n\r\n", text);
  const auto exchange = [&](auto&& http) -> absl::StatusOr<ServiceAnswer> {
    if (const auto error = http.run(host_, port_, patience)) {
      const bool is_distrust = error.category() == asio::error::get_ssl_category();
      return absl::Status(
          is_distrust ? absl::StatusCode::kPermissionDenied : absl::StatusCode::kUnavailable,
          fmt::format("{}: {}", url_, error.message()));
    }
    const HttpResponse& response = http.response();
    try {
      return ServiceAnswer{.status = response.result_int(),
                           .json = parse_trusted_json(response.body())};
    } catch (const Json::exception&) {
      return absl::UnknownError(fmt::format(
          "{}: the reply to {} {} is no JSON: is this a service of a sale?", url_, method, target));
    }
  };
  return tls_ == nullptr ? exchange(HttpExchange<asio::ip::tcp::socket>(request))
                         : exchange(HttpExchange<TlsStream>(request, *tls_));
}

absl::StatusOr<ServiceClient::Json> ServiceClient::get(const std::string& target) const {
  ASSIGN_OR_RETURN(auto answer, call("GET", target));
  if (!answer.is_success()) return error_of(answer);
  return std::move(answer.json);
}

absl::Status ServiceClient::error_of(const ServiceAnswer& answer) const {
  const std::string detail = answer.detail();
  return {code_of(answer.status, answer.problem()),
          fmt::format("{}: {}", url_,
                      detail.empty() ? fmt::format("status {}", answer.status) : detail)};
}

}  // namespace rushgate
