#include "tests/support/database_server/mariadb_server.h"

#include <mysql.h>

#include <memory>
#include <stdexcept>
#include <utility>

namespace rushgate::testing {
namespace {

constexpr char kUser[] = "root";

using Result = std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)>;

}  // namespace

MariadbSession::MariadbSession(const std::string& socket, const std::string& database)
    : connection_(mysql_init(nullptr)) {
  is_open_ = mysql_real_connect(connection_, nullptr, kUser, "",
                                database.empty() ? nullptr : database.c_str(), 0, socket.c_str(),
                                0) != nullptr;
}

MariadbSession::~MariadbSession() { mysql_close(connection_); }

std::string MariadbSession::execute(const std::string& sql) {
  if (mysql_real_query(connection_, sql.data(), sql.size()) != 0) {
    throw std::runtime_error(sql + ": " + mysql_error(connection_));
  }
  const Result result(mysql_store_result(connection_), mysql_free_result);
  MYSQL_ROW const row = result ? mysql_fetch_row(result.get()) : nullptr;
  return row != nullptr && row[0] != nullptr ? row[0] : "";
}

MariadbServer::MariadbServer(MariadbServerOptions options)
    : options_(std::move(options)), directory_(options_.where) {
  own(directory_.path());
  own(sockets_.path());
  process_.run({"/usr/bin/mariadb-install-db", "--no-defaults",
                "--datadir=" + (directory_.path() / "data").string(),
                "--auth-root-authentication-method=normal", "--skip-test-db"});
  start();
}

MariadbServer& MariadbServer::of_program() {
  static MariadbServer server;
  return server;
}

void MariadbServer::start() {
  std::vector<std::string> words = {
      "/usr/sbin/mariadbd",
      "--no-defaults",
      "--datadir=" + (directory_.path() / "data").string(),
      "--socket=" + socket(),
      "--pid-file=" + (directory_.path() / "pid").string(),
      "--skip-networking",
      "--innodb-buffer-pool-size=64M",
      "--innodb-log-file-size=32M",
      "--max-connections=40",
      std::string("--innodb-flush-log-at-trx-commit=") + (options_.is_durable ? "1" : "0")};
  if (options_.port != 0) {
    words.insert(words.end(), {"--skip-networking=0", "--bind-address=127.0.0.1",
                               "--port=" + std::to_string(options_.port), "--log-bin=binlog",
                               "--server-id=1", "--sync-binlog=0"});
  }
  words.insert(words.end(), options_.settings.begin(), options_.settings.end());
  process_.start(std::move(words));
  process_.wait_until([&] { return MariadbSession(socket(), "").is_open(); });
}

std::string MariadbServer::url(const std::string& database) const {
  return "mysql://" + std::string(kUser) + "@/" + database + "?socket=" + socket();
}

std::string MariadbServer::make_database() {
  const std::string name = "sale_" + std::to_string(++databases_);
  execute("", "CREATE DATABASE " + name);
  return url(name);
}

std::string MariadbServer::execute(const std::string& database, const std::string& sql) {
  return MariadbSession(socket(), database).execute(sql);
}

void MariadbServer::restart() {
  process_.kill();
  start();
}

void MariadbServer::replicate(MariadbServer& primary) {
  primary.execute("", "CREATE USER replica@'%' IDENTIFIED BY 'replica'");
  primary.execute("", "GRANT REPLICATION SLAVE ON *.* TO replica@'%'");
  execute("", "SET GLOBAL server_id = 2");
  execute("", "SET GLOBAL read_only = 1");
  execute("", "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = " +
                  std::to_string(primary.options_.port) +
                  ", MASTER_USER = 'replica', MASTER_PASSWORD = 'replica', MASTER_LOG_FILE = "
                  "'binlog.000001', MASTER_LOG_POS = 4");
  execute("", "START SLAVE");
  wait_until_current(primary);
}

void MariadbServer::wait_until_current(MariadbServer& primary) {
  const std::string position = primary.execute("", "SELECT @@gtid_binlog_pos");
  const std::string reached = execute("", "SELECT master_gtid_wait('" + position + "', 60)");
  if (reached != "0") throw std::runtime_error("the replica does not follow");
}

void MariadbServer::cut_off() { execute("", "STOP SLAVE"); }

void MariadbServer::promote() {
  execute("", "RESET SLAVE ALL");
  execute("", "SET GLOBAL read_only = 0");
}

}  // namespace rushgate::testing
