// A redis-server that accepts TLS on a port of 127.0.0.1.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/support/certificates.h"
#include "tests/support/redis_server/redis_server.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/redis_backend.h>

namespace rushgate::testing {

/// Requires a certificate of its clients.
class TlsRedisServer {
 public:
  /// `arguments` are also passed to redis-server.
  explicit TlsRedisServer(std::vector<std::string> arguments = {})
      : arguments_(std::move(arguments)) {}

  [[nodiscard]] RedisOptions options() const {
    RedisOptions options;
    options.port = port_;
    options.tls = true;
    options.tls_ca = file("ca.pem");
    options.tls_certificate = file("client.pem");
    options.tls_key = file("client.key");
    return options;
  }
  [[nodiscard]] std::string file(const std::string& name) const {
    return (directory_.path() / name).string();
  }
  [[nodiscard]] RedisServer& server() { return server_; }

 private:
  [[nodiscard]] RedisServerOptions with_tls() const {
    write_certificates(directory_.path());
    RedisServerOptions options = {
        .arguments = {"--tls-port", std::to_string(port_), "--tls-cert-file", file("server.pem"),
                      "--tls-key-file", file("server.key"), "--tls-ca-cert-file", file("ca.pem")}};
    options.arguments.insert(options.arguments.end(), arguments_.begin(), arguments_.end());
    return options;
  }

  const std::vector<std::string> arguments_;
  const TemporaryDirectory directory_{TemporaryDirectory::Where::kInTmp};
  const int port_ = find_free_port();
  RedisServer server_{with_tls()};
};

}  // namespace rushgate::testing
