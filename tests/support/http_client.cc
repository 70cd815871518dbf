#include "tests/support/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <utility>
#include <vector>

#include "adapters/flash_sale/json_text.h"

namespace rushgate::testing {

nlohmann::ordered_json HttpReply::json() const { return parse_trusted_json(body); }

std::string HttpReply::problem() const {
  constexpr std::string_view kBegin = "urn:rushgate:problem:";
  if (field("content-type") != "application/problem+json") return {};
  return json().at("type").get<std::string>().substr(kBegin.size());
}

HttpConnection::HttpConnection(std::uint16_t port)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval patience{.tv_sec = kPatience.count(), .tv_usec = 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    throw std::runtime_error("no server");
  }
}

HttpConnection::~HttpConnection() {
  if (socket_ >= 0) ::close(socket_);
}

HttpConnection::HttpConnection(HttpConnection&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), unread_(std::move(other.unread_)) {}

void HttpConnection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // closed: its reply says why
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void HttpConnection::finish_sending() { ::shutdown(socket_, SHUT_WR); }

/// Returns false at the end.
bool HttpConnection::read_more() {
  char buffer[16'384];
  const ssize_t got = ::recv(socket_, buffer, sizeof(buffer), 0);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) throw std::runtime_error("late");
  if (got <= 0) return false;
  unread_.append(buffer, static_cast<std::size_t>(got));
  return true;
}

std::string HttpConnection::receive_until(std::string_view end) {
  std::size_t at = 0;
  while ((at = unread_.find(end)) == std::string::npos) {
    if (!read_more()) throw std::runtime_error("closed after: " + unread_);
  }
  std::string bytes = unread_.substr(0, at + end.size());
  unread_.erase(0, at + end.size());
  return bytes;
}

std::string HttpConnection::receive_all() {
  while (read_more()) continue;
  return std::exchange(unread_, {});
}

HttpReply HttpConnection::receive() {
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  HttpReply reply;
  std::string line = receive_until("\r\n");
  if (!line.starts_with(kVersion)) throw std::runtime_error("no HTTP: " + line);
  reply.status = std::stoi(line.substr(kVersion.size()));
  while ((line = receive_until("\r\n")) != "\r\n") {
    const std::size_t colon = line.find(": ");
    std::string name = line.substr(0, colon);
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    reply.fields[name] = line.substr(colon + 2, line.size() - colon - 4);
  }
  const std::string length = reply.field("content-length");
  const std::size_t size = length.empty() ? 0 : std::stoul(length);
  while (unread_.size() < size) {
    if (!read_more()) throw std::runtime_error("closed within a body");
  }
  reply.body = unread_.substr(0, size);
  unread_.erase(0, size);
  return reply;
}

HttpReply HttpConnection::call(const std::string& method, const std::string& target,
                               const std::string& body, const std::string& fields) {
  send(http_request(method, target, body, fields));
  return receive();
}

HttpConnection& first_to_receive(std::initializer_list<HttpConnection*> connections) {
  std::vector<pollfd> polled;
  for (const HttpConnection* const one : connections) {
    polled.push_back({.fd = one->socket_, .events = POLLIN, .revents = 0});
  }
  const std::chrono::milliseconds patience = HttpConnection::kPatience;
  if (::poll(polled.data(), polled.size(), static_cast<int>(patience.count())) <= 0) {
    throw std::runtime_error("late");
  }
  const auto ready =
      std::ranges::find_if(polled, [](const pollfd& one) { return one.revents != 0; });
  return **(connections.begin() + (ready - polled.begin()));
}

std::string http_request(const std::string& method, const std::string& target,
                         const std::string& body, const std::string& fields) {
  std::string bytes = method + ' ' + target + " HTTP/1.1\r\nHost: localhost\r\n" + fields;
  if (!body.empty()) {
    if (fields.find("Content-Type") == std::string::npos) {
      bytes += "Content-Type: application/json\r\n";
    }
    bytes += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  }
  return bytes + "\r\n" + body;
}

}  // namespace rushgate::testing
