// A real PostgreSQL for tests.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/database_server/server_process.h"
#include "tests/support/temporary_directory.h"

struct pg_conn;

namespace rushgate::testing {

/// Another program's session. Not thread-safe.
class PostgresqlSession {
 public:
  explicit PostgresqlSession(const std::string& url);
  ~PostgresqlSession();
  PostgresqlSession(const PostgresqlSession&) = delete;
  PostgresqlSession& operator=(const PostgresqlSession&) = delete;

  [[nodiscard]] bool is_open() const;
  /// Returns the first column of the last statement's first row; "" if it has none. Throws
  /// std::runtime_error.
  std::string execute(const std::string& sql);
  /// Sends statements whose results are discarded by wait().
  void send(const std::string& sql);
  /// Returns false if one of them failed.
  bool wait();

 private:
  pg_conn* const connection_;
};

struct PostgresqlServerOptions {
  bool is_durable = false;  // fsync, as in production: for kill()
  TemporaryDirectory::Where where = TemporaryDirectory::Where::kInMemory;
  std::vector<std::string> settings = {};  // "max_connections=5"
};

/// Runs PostgreSQL on a unix socket in a directory of its own, as an unprivileged user. It ends with this
/// object, and with the thread that created it. Not thread-safe. Throws std::runtime_error with the
/// server's log if it does not start.
class PostgresqlServer {
 public:
  explicit PostgresqlServer(PostgresqlServerOptions options = {});

  /// Returns the server of this program, which begins with the first call.
  static PostgresqlServer& of_program();

  /// Makes an empty database, and returns its URL.
  std::string make_database();
  /// Makes an empty schema, in a fifth of the time, and returns a URL that uses it.
  std::string make_schema();
  [[nodiscard]] std::string url(const std::string& database) const;
  /// As PostgresqlSession::execute(), in a session of its own.
  std::string execute(const std::string& url, const std::string& sql);

  [[nodiscard]] std::filesystem::path socket_directory() const { return sockets_.path(); }
  [[nodiscard]] std::filesystem::path data() const { return directory_.path() / "data"; }
  /// Stops the server and its backends between two instructions.
  void pause() const { process_.pause(); }
  void resume() const { process_.resume(); }
  void kill() { process_.kill(); }
  /// Kills the server, and starts it again.
  void restart();

  /// Makes a streaming standby of a server.
  static std::unique_ptr<PostgresqlServer> make_standby(const PostgresqlServer& primary);
  /// Returns when this standby has everything that its primary has committed.
  void wait_until_current(PostgresqlServer& primary);
  /// Lets this standby receive nothing any more.
  void cut_off();
  /// Makes this standby a primary with what it has received.
  void promote();

 private:
  struct Standby {};
  PostgresqlServer(const PostgresqlServer& primary, Standby);
  void start(const std::vector<std::string>& more = {});

  const PostgresqlServerOptions options_;
  const TemporaryDirectory directory_;
  const TemporaryDirectory sockets_{TemporaryDirectory::Where::kInTmp};
  ServerProcess process_{directory_.path() / "log"};
  int databases_ = 0;
};

}  // namespace rushgate::testing
