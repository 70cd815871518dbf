#include "tests/support/database_server/postgresql_server.h"

#include <libpq-fe.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <utility>

namespace rushgate::testing {
namespace {

namespace fs = std::filesystem;

constexpr char kUser[] = "rushgate";

/// Returns the directory of the newest installed server's programs.
fs::path find_programs() {
  fs::path newest;
  int version = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", error)) {
    const int found = std::atoi(entry.path().filename().c_str());
    if (found <= version || !fs::exists(entry.path() / "bin/postgres")) continue;
    version = found;
    newest = entry.path() / "bin";
  }
  if (newest.empty()) throw std::runtime_error("no PostgreSQL is installed (package postgresql)");
  return newest;
}

using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

}  // namespace

PostgresqlSession::PostgresqlSession(const std::string& url)
    : connection_(PQconnectdb(url.c_str())) {}

PostgresqlSession::~PostgresqlSession() { PQfinish(connection_); }

bool PostgresqlSession::is_open() const { return PQstatus(connection_) == CONNECTION_OK; }

std::string PostgresqlSession::execute(const std::string& sql) {
  const Result result(PQexec(connection_, sql.c_str()), PQclear);
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    throw std::runtime_error(sql + ": " + PQerrorMessage(connection_));
  }
  return PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
}

void PostgresqlSession::send(const std::string& sql) {
  if (PQsendQuery(connection_, sql.c_str()) != 1) {
    throw std::runtime_error(sql + ": " + PQerrorMessage(connection_));
  }
}

bool PostgresqlSession::wait() {
  bool has_failed = false;
  while (PGresult* const result = PQgetResult(connection_)) {
    has_failed = has_failed || PQresultStatus(result) == PGRES_FATAL_ERROR;
    PQclear(result);
  }
  return !has_failed;
}

PostgresqlServer::PostgresqlServer(PostgresqlServerOptions options)
    : options_(std::move(options)), directory_(options_.where) {
  own(directory_.path());
  own(sockets_.path());
  process_.run({(find_programs() / "initdb").string(), "-D", data().string(), "-U", kUser, "-A",
                "trust", "-E", "UTF8", "--no-locale", "--no-sync", "--no-instructions"});
  start();
}

PostgresqlServer::PostgresqlServer(const PostgresqlServer& primary, Standby /*tag*/)
    : options_(primary.options_), directory_(options_.where) {
  own(directory_.path());
  own(sockets_.path());
  process_.run({(find_programs() / "pg_basebackup").string(), "-D", data().string(), "-h",
                primary.sockets_.path().string(), "-U", kUser, "-R", "-X", "stream",
                "--checkpoint=fast", "--no-sync"});
  start();
}

std::unique_ptr<PostgresqlServer> PostgresqlServer::make_standby(const PostgresqlServer& primary) {
  return std::unique_ptr<PostgresqlServer>(new PostgresqlServer(primary, Standby()));
}

void PostgresqlServer::wait_until_current(PostgresqlServer& primary) {
  const std::string position =
      primary.execute(primary.url("postgres"), "SELECT pg_current_wal_lsn()");
  process_.wait_until([&] {
    return execute(url("postgres"), "SELECT pg_last_wal_replay_lsn() >= '" + position + "'") == "t";
  });
}

void PostgresqlServer::cut_off() {
  process_.kill();
  fs::remove(data() / "postmaster.pid");
  start({"primary_conninfo="});
}

void PostgresqlServer::promote() { execute(url("postgres"), "SELECT pg_promote(true, 60)"); }

PostgresqlServer& PostgresqlServer::of_program() {
  static PostgresqlServer server;
  return server;
}

void PostgresqlServer::start(const std::vector<std::string>& more) {
  const std::string sync = options_.is_durable ? "on" : "off";
  std::vector<std::string> settings = {
      "listen_addresses=",
      "unix_socket_directories=" + sockets_.path().string(),
      "fsync=" + sync,
      "full_page_writes=" + sync,
      "shared_buffers=32MB",
      "autovacuum_naptime=10min",
      "max_connections=40",
      "deadlock_timeout=50ms",
      "dynamic_shared_memory_type=mmap"};  // a killed server would leave a file in /dev/shm
  settings.insert(settings.end(), options_.settings.begin(), options_.settings.end());
  settings.insert(settings.end(), more.begin(), more.end());
  std::vector<std::string> words = {(find_programs() / "postgres").string(), "-D", data().string()};
  for (std::string& setting : settings) {
    words.emplace_back("-c");
    words.push_back(std::move(setting));
  }
  process_.start(std::move(words));
  process_.wait_until([&] { return PQping(url("postgres").c_str()) == PQPING_OK; });
}

std::string PostgresqlServer::url(const std::string& database) const {
  return "postgresql://" + std::string(kUser) + "@/" + database +
         "?host=" + sockets_.path().string();
}

std::string PostgresqlServer::make_database() {
  const std::string name = "sale_" + std::to_string(++databases_);
  execute(url("postgres"), "CREATE DATABASE " + name);
  return url(name);
}

std::string PostgresqlServer::make_schema() {
  const std::string name = "sale_" + std::to_string(++databases_);
  execute(url("postgres"), "CREATE SCHEMA " + name);
  return url("postgres") + "&options=-csearch_path%3D" + name;
}

std::string PostgresqlServer::execute(const std::string& url, const std::string& sql) {
  return PostgresqlSession(url).execute(sql);
}

void PostgresqlServer::restart() {
  process_.kill();
  fs::remove(data() / "postmaster.pid");
  start();
}

}  // namespace rushgate::testing
