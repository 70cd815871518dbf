// A client for HTTP/1.1 that sends what it is told to, also what no client should.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace rushgate::testing {

struct HttpReply {
  int status = 0;
  std::map<std::string, std::string> fields;  // by names in lower case
  std::string body;

  /// Returns the body as JSON. Throws if it is none.
  [[nodiscard]] nlohmann::ordered_json json() const;
  /// Returns a header field; empty if it is missing.
  [[nodiscard]] std::string field(const std::string& name) const {
    const auto found = fields.find(name);
    return found == fields.end() ? "" : found->second;
  }
  /// Returns the name of the problem, as in "sold-out"; empty if it is none.
  [[nodiscard]] std::string problem() const;
};

/// Not thread-safe. Throws std::runtime_error if the server is unreachable, closes the connection too
/// soon, is late, or sends no HTTP. In a test, each of these is a failure.
class HttpConnection {
 public:
  static constexpr std::chrono::seconds kPatience{60};  // generous: the machine may be busy

  explicit HttpConnection(std::uint16_t port);
  ~HttpConnection();
  HttpConnection(HttpConnection&& other) noexcept;
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  void send(std::string_view bytes);
  /// Sends no more. The server may still reply.
  void finish_sending();
  HttpReply receive();
  /// Returns the bytes up to and including `end`.
  std::string receive_until(std::string_view end);
  /// Returns all bytes until the server closes the connection.
  std::string receive_all();

  /// Sends a request and receives its reply. `fields` are header lines, each with its line end.
  HttpReply call(const std::string& method, const std::string& target, const std::string& body = {},
                 const std::string& fields = {});

 private:
  friend HttpConnection& first_to_receive(std::initializer_list<HttpConnection*> connections);
  bool read_more();

  int socket_ = -1;
  std::string unread_;
};

/// Waits until the server has sent something on one of the connections, and returns that one.
HttpConnection& first_to_receive(std::initializer_list<HttpConnection*> connections);

/// Returns the bytes of a request.
std::string http_request(const std::string& method, const std::string& target,
                         const std::string& body = {}, const std::string& fields = {});

}  // namespace rushgate::testing
