#include "tests/support/database_server/pgbouncer.h"

#include <libpq-fe.h>

#include <csignal>
#include <fstream>

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

void Pgbouncer::lead_to(const PostgresqlServer& server) {
  configure(server);
  process_.send(SIGHUP);
}

}  // namespace rushgate::testing
