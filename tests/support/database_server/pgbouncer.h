// A real pgbouncer for tests.
#pragma once

#include <string>

#include "tests/support/database_server/postgresql_server.h"
#include "tests/support/database_server/server_process.h"
#include "tests/support/temporary_directory.h"

namespace rushgate::testing {

/// Runs pgbouncer in transaction mode in front of a server, with two connections to it. Not thread-safe.
/// Throws std::runtime_error with its log if it does not start.
class Pgbouncer {
 public:
  explicit Pgbouncer(const PostgresqlServer& server);

  [[nodiscard]] std::string url(const std::string& database) const;
  /// Lets running transactions end, and all others wait for lead_to(). Clients stay connected.
  void hold() const { command("PAUSE"); }
  /// Leads to another server.
  void lead_to(const PostgresqlServer& server) const;

 private:
  void command(const std::string& text) const;
  void configure(const PostgresqlServer& server) const;

  const TemporaryDirectory directory_{TemporaryDirectory::Where::kInTmp};
  ServerProcess process_{directory_.path() / "log"};
};

}  // namespace rushgate::testing
