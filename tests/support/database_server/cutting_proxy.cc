#include "tests/support/database_server/cutting_proxy.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace rushgate::testing {
namespace {

// READ COMMITTED is another statement.
constexpr std::string_view kCommitOfPostgresql{"COMMIT\0", 7};  // in its reply, too
constexpr std::string_view kCommitOfMariadb{";COMMIT"};

sockaddr_un address_of(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  return address;
}

/// Reads once. Returns what was read; empty: the end.
std::string read_some(int from) {
  std::array<char, 16'384> buffer{};
  const ::ssize_t bytes = ::read(from, buffer.data(), buffer.size());
  return bytes <= 0 ? "" : std::string(buffer.data(), static_cast<std::size_t>(bytes));
}

void write_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ::ssize_t written = ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (written <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string_view commit_of(CuttingProxy::Protocol protocol) {
  return protocol == CuttingProxy::Protocol::kPostgresql ? kCommitOfPostgresql : kCommitOfMariadb;
}

/// Returns how many bytes an integer of MariaDB's protocol takes, by its first one.
std::size_t length_of_integer(char first) {
  switch (static_cast<unsigned char>(first)) {
    case 0xfc:
      return 3;
    case 0xfd:
      return 4;
    case 0xfe:
      return 9;
    default:
      return 1;
  }
}

/// Returns true if replies of MariaDB, to statements without rows, end with the last one.
bool has_last_reply(std::string_view replies) {
  constexpr std::size_t kHeader = 4;
  constexpr unsigned kMoreResults = 8;  // of the status
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(replies[at]); };
  while (replies.size() > kHeader) {
    const std::size_t end = kHeader + byte(0) + (std::size_t{byte(1)} << 8);
    if (end > replies.size()) return false;
    std::size_t at = kHeader + 1;
    for (int i = 0; i < 2; ++i) at += length_of_integer(replies[at]);
    if ((byte(at) & kMoreResults) == 0) return true;
    replies.remove_prefix(end);
  }
  return false;
}

bool is_reply_to_commit(CuttingProxy::Protocol protocol, std::string_view replies) {
  return protocol == CuttingProxy::Protocol::kPostgresql
             ? replies.find(kCommitOfPostgresql) != std::string_view::npos
             : has_last_reply(replies);
}

}  // namespace

CuttingProxy::CuttingProxy(const std::filesystem::path& server_socket, Protocol protocol)
    : server_socket_(server_socket), protocol_(protocol) {
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = address_of(directory_.path() / server_socket.filename());
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(listener_, 16) != 0) {
    throw std::runtime_error("the proxy cannot listen");
  }
  thread_ = std::thread([this] { accept_all(); });
}

// The clients must be closed by now, so each session ends.
CuttingProxy::~CuttingProxy() {
  ::shutdown(listener_, SHUT_RDWR);
  thread_.join();
  for (std::thread& session : sessions_) session.join();
  ::close(listener_);
}

void CuttingProxy::accept_all() {
  for (int client = 0; (client = ::accept(listener_, nullptr, nullptr)) >= 0;) {
    sessions_.emplace_back([this, client] { forward(client); });
  }
}

void CuttingProxy::forward(int client) {
  const int server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = address_of(server_socket_);
  bool is_open =
      ::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  bool is_cutting = false;
  std::string replies;  // to the commit
  while (is_open) {
    std::array<pollfd, 2> sockets = {pollfd{.fd = client, .events = POLLIN, .revents = 0},
                                     pollfd{.fd = server, .events = POLLIN, .revents = 0}};
    if (::poll(sockets.data(), sockets.size(), -1) < 0) break;
    if (sockets[0].revents != 0) {
      const std::string request = read_some(client);
      is_open = !request.empty();
      if (request.find(commit_of(protocol_)) != std::string::npos && cuts_.exchange(false))
        is_cutting = true;
      write_all(server, request);
    }
    if (is_open && sockets[1].revents != 0) {
      const std::string reply = read_some(server);
      is_open = !reply.empty();
      if (!is_cutting) {
        write_all(client, reply);
        continue;
      }
      replies += reply;
      if (is_reply_to_commit(protocol_, replies)) break;
    }
  }
  ::close(server);
  ::close(client);
}

}  // namespace rushgate::testing
