// Orders, payments and vouchers in a MariaDB. docs/format.md defines its tables.
#pragma once

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include <rushgate/order_store.h>

namespace spdlog {
class logger;
}

namespace rushgate {

struct MysqlOrderStoreOptions {
  bool create_if_missing = true;  // the tables; false: kNotFound if there are none
  bool read_only = false;         // creates and migrates nothing
  std::shared_ptr<spdlog::logger> logger =
      {};  // of the creation, migration and opening; may be null
};

/// Opens the orders in a MariaDB (10.6 or later), and creates or migrates the tables if needed.
/// Several processes may do so at once, and share the database. Thread-safe. `url` is one of these, in which
/// "%XX" is decoded:
///     mysql://user[:password]@host[:3306]/database[?options]
///     mysql://user@/database?socket=/run/mysqld/mysqld.sock
/// Without a password in the URL, MYSQL_PWD has it. Options:
///     password_file=path           a file with the password alone
///     pool_size=4                  connections, from 1 to 100
///     connect_timeout=5            seconds
///     statement_timeout_ms=10000   for a call; also how long a lock is waited for. In whole seconds
///     tls=off|required|verify      verify: the certificate must be the host's. Default: verify with tls_ca
///     tls_ca=path                  certificates of the authorities
///
/// Calls, errors and messages are as for open_postgresql_order_store(). kFailedPrecondition also: the server
/// is no MariaDB of this version.
absl::StatusOr<std::unique_ptr<OrderStore>> open_mysql_order_store(
    std::string_view url, const MysqlOrderStoreOptions& options = {});

}  // namespace rushgate
