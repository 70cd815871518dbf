// A real MariaDB for tests.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/database_server/server_process.h"
#include "tests/support/temporary_directory.h"

struct st_mysql;

namespace rushgate::testing {

/// Another program's session, of the user root. Not thread-safe.
class MariadbSession {
 public:
  /// `database` may be empty: none.
  MariadbSession(const std::string& socket, const std::string& database);
  ~MariadbSession();
  MariadbSession(const MariadbSession&) = delete;
  MariadbSession& operator=(const MariadbSession&) = delete;

  [[nodiscard]] bool is_open() const { return is_open_; }
  /// Runs one statement. Returns the first column of its first row; "" if it has none. Throws
  /// std::runtime_error.
  std::string execute(const std::string& sql);

 private:
  st_mysql* const connection_;
  bool is_open_ = false;
};

struct MariadbServerOptions {
  bool is_durable = false;  // flushes each commit, as in production: for restart()
  TemporaryDirectory::Where where = TemporaryDirectory::Where::kInMemory;
  std::vector<std::string> settings = {};  // "--max-connections=5"
  int port = 0;  // of 127.0.0.1, where it listens as the primary of replicas; 0: it has none
};

/// Runs MariaDB on a unix socket in a directory of its own, as an unprivileged user. It ends with this
/// object, and with the thread that created it. Not thread-safe. Throws std::runtime_error with the
/// server's log if it does not start.
class MariadbServer {
 public:
  explicit MariadbServer(MariadbServerOptions options = {});

  /// Returns the server of this program, which begins with the first call.
  static MariadbServer& of_program();

  /// Makes an empty database, and returns its URL.
  std::string make_database();
  std::string make_schema() { return make_database(); }  // a schema is a database
  [[nodiscard]] std::string url(const std::string& database) const;
  /// As MariadbSession::execute(), in a session of its own.
  std::string execute(const std::string& database, const std::string& sql);
  [[nodiscard]] std::string socket() const { return (sockets_.path() / "mariadb.sock").string(); }

  /// Stops the server between two instructions.
  void pause() const { process_.pause(); }
  void resume() const { process_.resume(); }
  void kill() { process_.kill(); }
  /// Kills the server, and starts it again.
  void restart();

  /// Makes this new server a replica of a server with a port.
  void replicate(MariadbServer& primary);
  /// Returns when this replica has everything that its primary has committed.
  void wait_until_current(MariadbServer& primary);
  /// Lets this replica receive nothing any more.
  void cut_off();
  /// Makes this replica a server that takes writes, with what it has received.
  void promote();

 private:
  void start();

  const MariadbServerOptions options_;
  const TemporaryDirectory directory_;
  const TemporaryDirectory sockets_{TemporaryDirectory::Where::kInTmp};
  ServerProcess process_{directory_.path() / "log"};
  int databases_ = 0;
};

}  // namespace rushgate::testing
