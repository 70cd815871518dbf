#include "tests/support/faults/fake_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>

namespace rushgate::testing {

bool FakeSession::read_until(std::string_view end) {
  std::string received;
  char byte = 0;
  while (!received.ends_with(end)) {
    if (::recv(fd_, &byte, 1, 0) <= 0) return false;
    received += byte;
  }
  return true;
}

int FakeSession::read_number() {
  std::string line;
  char byte = 0;
  while (!line.ends_with("\r\n")) {
    if (::recv(fd_, &byte, 1, 0) <= 0) return -1;
    line += byte;
  }
  return std::stoi(line.substr(1));
}

std::vector<std::string> FakeSession::read_request() {
  std::vector<std::string> words;
  const int count = read_number();
  while (static_cast<int>(words.size()) < count) {
    const int size = read_number();
    if (size < 0) return {};
    std::string word(static_cast<std::size_t>(size) + 2, '\0');
    if (::recv(fd_, word.data(), word.size(), MSG_WAITALL) != static_cast<ssize_t>(word.size())) {
      return {};
    }
    words.push_back(word.substr(0, word.size() - 2));
  }
  return words;
}

bool FakeSession::read_bytes(std::size_t bytes) {
  char buffer[4096];
  while (bytes > 0) {
    const ssize_t got = ::recv(fd_, buffer, std::min(bytes, sizeof(buffer)), 0);
    if (got <= 0) return false;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

void FakeSession::wait_for_close() {
  char buffer[4096];
  while (::recv(fd_, buffer, sizeof(buffer), 0) > 0) {
  }
}

void FakeSession::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void FakeSession::greet(std::string_view version) {
  read_until("ID\r\n");
  const std::string info = "redis_version:" + std::string(version) + "\r\n";
  write("+PONG\r\n$" + std::to_string(info.size()) + "\r\n" + info + "\r\n:1\r\n");
}

FakeServer::FakeServer(std::vector<std::function<void(FakeSession&)>> sessions)
    : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), sessions_(std::move(sessions)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_, any, size) != 0 || ::listen(listener_, 8) != 0 ||
      ::getsockname(listener_, any, &size) != 0) {
    throw std::runtime_error("cannot listen on 127.0.0.1");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::jthread([this] {
    std::vector<std::jthread> players;
    for (const auto& play : sessions_) {
      const int fd = ::accept(listener_, nullptr, nullptr);
      if (fd < 0) return;
      players.emplace_back([this, &play, fd] {
        FakeSession session(fd);
        play(session);
        ::close(fd);
        ++closed_;
        closed_.notify_all();
      });
    }
  });
}

void FakeServer::wait_for_closed(int count) {
  for (int closed = closed_; closed < count; closed = closed_) closed_.wait(closed);
}

FakeServer::~FakeServer() {
  ::shutdown(listener_, SHUT_RDWR);  // ends an accept() without a client
  thread_.join();
  ::close(listener_);
}

}  // namespace rushgate::testing
