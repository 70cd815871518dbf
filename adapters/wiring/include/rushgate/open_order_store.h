// Opens an order database from a URL: develop on a file, run on a server.
#pragma once

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include <rushgate/order_store.h>

namespace spdlog {
class logger;
}

namespace rushgate {

struct OpenOrderStoreOptions {
  /// Creates the database's file or tables. Otherwise kNotFound: there are none.
  bool create_if_missing = true;
  /// For reading a database that other processes write. Migrates nothing: a database of an older version is
  /// refused with kFailedPrecondition.
  bool read_only = false;
  std::shared_ptr<spdlog::logger> logger = {};  // may be null
};

/// Opens orders, payments, vouchers and archive at one of these places:
///     sqlite:path                  an SQLite file; "%XX" is decoded
///     postgresql://user@host/db    a PostgreSQL: open_postgresql_order_store() says more
///     mysql://user@host/db         a MariaDB: open_mysql_order_store() says more
///     memory:                      for this process alone; nothing survives it
/// Any number of processes may open a database on a server, or the file, at once. kInvalidArgument: the URL is
/// wrong, which never shows a password, or this build has no such database. Other errors are those of
/// the store.
absl::StatusOr<std::unique_ptr<OrderStore>> open_order_store(
    std::string_view url, const OpenOrderStoreOptions& options = {});

}  // namespace rushgate
