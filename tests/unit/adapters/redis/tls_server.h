// A redis-server that accepts TLS on a port of 127.0.0.1.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

#include "tests/support/certificates.h"
#include "tests/support/redis_server/redis_server.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/redis_backend.h>

namespace rushgate::testing {

/// Returns a port that is currently free.
inline int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  const bool is_bound = ::bind(fd, any, size) == 0 && ::getsockname(fd, any, &size) == 0;
  ::close(fd);
  if (!is_bound) throw std::runtime_error("no free port");
  return ntohs(address.sin_port);
}

/// Requires a certificate of its clients.
class TlsRedisServer {
 public:
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
    return {.arguments = {"--tls-port", std::to_string(port_), "--tls-cert-file",
                          file("server.pem"), "--tls-key-file", file("server.key"),
                          "--tls-ca-cert-file", file("ca.pem")}};
  }

  const TemporaryDirectory directory_{TemporaryDirectory::Where::kInTmp};
  const int port_ = free_port();
  RedisServer server_{with_tls()};
};

}  // namespace rushgate::testing
