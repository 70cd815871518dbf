#include "tests/unit/storage/postgresql/cutting_proxy.h"

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

constexpr char kSocketName[] = ".s.PGSQL.5432";
/// The text of the statement, and of its reply. READ COMMITTED is another one.
constexpr std::string_view kCommit{"COMMIT\0", 7};

sockaddr_un address_of(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  return address;
}

/// Reads once from one socket and writes all to the other. Returns what was read; empty: the end.
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

}  // namespace

CuttingProxy::CuttingProxy(const std::filesystem::path& server_socket)
    : server_socket_(server_socket) {
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = address_of(directory_.path() / kSocketName);
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
  while (is_open) {
    std::array<pollfd, 2> sockets = {pollfd{.fd = client, .events = POLLIN, .revents = 0},
                                     pollfd{.fd = server, .events = POLLIN, .revents = 0}};
    if (::poll(sockets.data(), sockets.size(), -1) < 0) break;
    if (sockets[0].revents != 0) {
      const std::string request = read_some(client);
      is_open = !request.empty();
      if (request.find(kCommit) != std::string::npos && cuts_.exchange(false)) is_cutting = true;
      write_all(server, request);
    }
    if (is_open && sockets[1].revents != 0) {
      const std::string reply = read_some(server);
      is_open = !reply.empty();
      if (is_cutting && reply.find(kCommit) != std::string::npos) break;
      if (!is_cutting) write_all(client, reply);
    }
  }
  ::close(server);
  ::close(client);
}

}  // namespace rushgate::testing
