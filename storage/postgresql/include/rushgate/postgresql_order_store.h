// Orders, payments and vouchers in a PostgreSQL. docs/format.md defines its tables.
#pragma once

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include <rushgate/order_store.h>

namespace spdlog {
class logger;
}

namespace rushgate {

struct PostgresqlOrderStoreOptions {
  bool create_if_missing = true;  // the tables; false: kNotFound if there are none
  bool read_only = false;         // creates and migrates nothing
  std::shared_ptr<spdlog::logger> logger =
      {};  // of the creation, migration and opening; may be null
};

/// Opens the orders in a PostgreSQL (14 or later), and creates or migrates the tables if needed.
/// Several processes may do so at once, and share the database. Thread-safe. `url` is libpq's:
///     postgresql://user@host:5432/database?sslmode=verify-full&sslrootcert=…
///     postgresql:///database?host=/var/run/postgresql
/// The password is in the URL, in PGPASSWORD or in ~/.pgpass. Further options:
///     password_file=path           a file with the password alone
///     pool_size=4                  connections, from 1 to 100
///     connect_timeout=5            seconds
///     statement_timeout_ms=10000   for a call; also how long a lock is waited for
/// It works through pgbouncer in transaction mode. The store has payments(), vouchers() and archive().
///
/// Calls time out on a server that hangs, and connect again after a restart. A call whose connection is
/// lost during its COMMIT fails with kUnavailable, and may have taken effect. Errors:
/// - kUnavailable: no connection, disk full, a time-out, too many connections. A retry may succeed.
/// - kDataLoss: PostgreSQL reports damaged data.
/// - kInvalidArgument: the URL is invalid, or a constraint forbids the change.
/// - kFailedPrecondition: the tables are another application's, or read_only and not migrated, or as in
///   VoucherStore.
/// - kNotFound: there are no tables, and none may be created.
/// - kUnimplemented: the tables were made by a newer version of Rushgate.
/// - kInternal: other errors of PostgreSQL, such as a table that somebody changed.
absl::StatusOr<std::unique_ptr<OrderStore>> open_postgresql_order_store(
    std::string_view url, const PostgresqlOrderStoreOptions& options = {});

}  // namespace rushgate
