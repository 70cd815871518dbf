// A proxy in front of a PostgreSQL or a MariaDB that cuts a connection at the worst moment.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/temporary_directory.h"

namespace rushgate::testing {

/// Forwards the connections to a unix socket, from one with the same name. Thread-safe.
class CuttingProxy {
 public:
  enum class Protocol : unsigned char { kPostgresql, kMariadb };
  CuttingProxy(const std::filesystem::path& server_socket, Protocol protocol);
  ~CuttingProxy();
  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;

  /// Returns the directory of its socket.
  [[nodiscard]] std::string directory() const { return directory_.path().string(); }
  /// Closes the next connection that sends COMMIT, once the server has replied to it and without the reply.
  void cut_next_commit() { cuts_ = true; }
  /// Returns true if that was sent.
  [[nodiscard]] bool has_met_commit() const { return !cuts_; }

 private:
  void accept_all();
  void forward(int client);

  const std::filesystem::path server_socket_;
  const Protocol protocol_;
  const TemporaryDirectory directory_{TemporaryDirectory::Where::kInTmp};
  std::atomic<bool> cuts_{false};
  int listener_ = -1;
  std::vector<std::thread> sessions_;  // of the thread below
  std::thread thread_;
};

}  // namespace rushgate::testing
