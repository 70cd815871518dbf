#include "tests/support/database_server/pgbouncer.h"

#include <libpq-fe.h>

#include <fstream>
#include <memory>
#include <stdexcept>

namespace rushgate::testing {

Pgbouncer::Pgbouncer(const PostgresqlServer& server) {
  own(directory_.path());
  configure(server);
  process_.start({"/usr/sbin/pgbouncer", (directory_.path() / "ini").string()});
  process_.wait_until([&] { return PQping(url("postgres").c_str()) == PQPING_OK; });
}

void Pgbouncer::configure(const PostgresqlServer& server) const {
  std::ofstream ini(directory_.path() / "ini");
  ini << "[databases]\n* = host=" << server.socket_directory().string()
      << " user=rushgate\n"
         "[pgbouncer]\npool_mode = transaction\ndefault_pool_size = 2\nauth_type = any\n"
         "server_login_retry = 0.05\nadmin_users = rushgate\nlisten_port = 6432\n"
         "unix_socket_dir = "
      << directory_.path().string() << "\n";
}

std::string Pgbouncer::url(const std::string& database) const {
  return "postgresql://rushgate@/" + database + "?port=6432&host=" + directory_.path().string();
}

void Pgbouncer::lead_to(const PostgresqlServer& server) const {
  configure(server);
  command("RELOAD");
  command("RESUME");
}

void Pgbouncer::command(const std::string& text) const {
  const std::unique_ptr<PGconn, decltype(&PQfinish)> console(PQconnectdb(url("pgbouncer").c_str()),
                                                             PQfinish);
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(console.get(), text.c_str()),
                                                             PQclear);
  if (PQresultStatus(result.get()) != PGRES_COMMAND_OK) {
    throw std::runtime_error(text + ": " + PQerrorMessage(console.get()));
  }
}

}  // namespace rushgate::testing
