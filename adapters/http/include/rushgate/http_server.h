// The sale as a service: a port for programs in any language, by HTTP and JSON. docs/http.md
// describes its routes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/flash_sale.h>

namespace spdlog {
class logger;
}

namespace rushgate {

struct HttpServerOptions {
  std::string bind_address = "127.0.0.1";  // an IP address
  std::uint16_t port = 8080;               // 0: a free one (HttpServer::port())
  int threads = 2;                         // that serve connections

  /// The bearer token of operators' routes. Empty: these routes are served to clients on the same
  /// machine alone, and not through a proxy.
  std::string operator_token = {};
  /// The key with which tokens of users are signed: sign_user(). Each request of a buyer must then
  /// carry one of its user, or the operators' token. Empty: any client may buy for any user.
  std::string user_key = {};
  /// Origins of web pages, besides the server's own, whose requests may change something:
  /// "https://shop.example".
  std::vector<std::string> origins = {};

  /// Where the buyer's page sends a buyer to pay: an address with "{order}", "{voucher}",
  /// "{amount_cents}", "{user}" and "{return}", the address of the order's page, in it. It begins with
  /// "https://", "http://" or "/". Empty: the page names the amount alone. "test" is a page of the
  /// server that records a payment without money, if its client may use operators' routes: for demos.
  std::string payment_url = {};
  /// The currency of prices on the pages, by ISO 4217: "EUR". Empty: they are plain numbers.
  std::string currency = {};

  /// Where operators may make backups: FlashSale::backup(). Empty: nowhere.
  std::filesystem::path backups_dir = {};

  /// A certificate chain and its key, in PEM. Both are empty: no TLS.
  std::filesystem::path tls_certificate = {};
  std::filesystem::path tls_key = {};

  /// Connections beyond these bounds get 503. start() raises the process's limit of open files
  /// (RLIMIT_NOFILE) as needed. Otherwise it lowers connections_max and logs that.
  std::size_t connections_max = 10'000;
  std::size_t event_streams_max = 1'000;
  /// Requests that wait for a thread, for each kind: purchases; payments and cancellations; other
  /// changes; reads; purchases that the order database completes, such as repetitions. Those beyond the
  /// bound get 503.
  std::size_t purchases_waiting_max = 16'384;
  std::size_t waiting_max = 1'024;

  /// The entrance to each voucher that needs a purchase token (Voucher::needs_token): users that enter
  /// in a second, and the most that may wait.
  std::int64_t entrance_per_second = 100;
  std::int64_t entrance_waiting_max = 1'000'000;

  // A connection that exceeds one of these times is closed.
  std::int64_t header_timeout_ms = 5'000;  // from the first byte of a request to its header's end
  std::int64_t transfer_timeout_ms = 30'000;  // to receive a body, or until a reply is read
  std::int64_t idle_timeout_ms = 60'000;      // without a request

  /// May be null.
  std::shared_ptr<spdlog::logger> logger = {};
};

/// Serves HTTP/1.1 on threads of its own. No connection holds a thread: purchases are decided in
/// batches, and everything that reads the order database waits in bounded queues of its own, so a
/// slow database delays no purchase. The sale must outlive it, may have other callers, and is not
/// in manual mode. Thread-safe.
class HttpServer {
 public:
  static constexpr std::size_t kHeaderBytesMax = 16 * 1'024;
  static constexpr std::size_t kBodyBytesMax = 64 * 1'024;

  /// Returns when it is listening. Errors:
  /// - kInvalidArgument: invalid options, or a certificate that cannot be used.
  /// - kUnavailable: the address is in use or not permitted.
  /// - kResourceExhausted: the limit of open files leaves none for connections.
  static absl::StatusOr<std::unique_ptr<HttpServer>> start(FlashSale& sale,
                                                           HttpServerOptions options);
  /// Calls stop().
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] std::uint16_t port() const;

  /// Reads the certificate and its key again, for new connections. After an error the ones before
  /// stay.
  absl::Status reload_certificate();

  /// Replies to the requests read so far, then closes all connections. Returns when its threads
  /// have ended.
  void stop();

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

/// Returns a token with which `user` may buy until `expires_at_ms` (since 1970 UTC), for
/// HttpServerOptions::user_key. A program that knows its users gives it to them.
std::string sign_user(const UserId& user, std::int64_t expires_at_ms, std::string_view key);

}  // namespace rushgate
