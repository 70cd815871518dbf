#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/percent_encoding.h"
#include "engine/core/base/status_macros.h"
#include <rushgate/memory_order_store.h>
#include <rushgate/open_order_store.h>
#ifdef RUSHGATE_HAS_MYSQL
#include <rushgate/mysql_order_store.h>
#endif
#ifdef RUSHGATE_HAS_POSTGRES
#include <rushgate/postgresql_order_store.h>
#endif
#ifdef RUSHGATE_HAS_SQLITE
#include <rushgate/sqlite_order_store.h>
#endif

namespace rushgate {
namespace {

absl::Status bad_orders_url(const std::string& what) {
  return absl::InvalidArgumentError("URL of orders: " + what);
}

[[maybe_unused]] absl::Status not_built(std::string_view database, std::string_view option) {
  return bad_orders_url(
      concat("this build has no ", database, " (the CMake option ", option, " is off)"));
}

absl::StatusOr<std::unique_ptr<OrderStore>> open_sqlite(std::string_view encoded,
                                                        const OpenOrderStoreOptions& options) {
  const auto path = percent_decoded(encoded);
  if (!path) return bad_orders_url("'%' in the path is not followed by two hexadecimal digits");
  if (path->empty()) return bad_orders_url("sqlite: needs the path of a file");
#ifdef RUSHGATE_HAS_SQLITE
  std::error_code error;
  if (!options.create_if_missing && !std::filesystem::exists(*path, error)) {
    return absl::NotFoundError(concat("there is no order database ", *path));
  }
  SqliteOrderStoreOptions sqlite;
  sqlite.read_only = options.read_only;
  sqlite.logger = options.logger;
  ASSIGN_OR_RETURN(auto store, SqliteOrderStore::open(*path, sqlite));
  return store;
#else
  static_cast<void>(options);
  return not_built("SQLite", "RUSHGATE_SQLITE");
#endif
}

absl::StatusOr<std::unique_ptr<OrderStore>> open_postgresql(std::string_view url,
                                                            const OpenOrderStoreOptions& options) {
#ifdef RUSHGATE_HAS_POSTGRES
  return open_postgresql_order_store(url, {.create_if_missing = options.create_if_missing,
                                           .read_only = options.read_only,
                                           .logger = options.logger});
#else
  static_cast<void>(url);
  static_cast<void>(options);
  return not_built("PostgreSQL", "RUSHGATE_POSTGRES");
#endif
}

absl::StatusOr<std::unique_ptr<OrderStore>> open_mysql(std::string_view url,
                                                       const OpenOrderStoreOptions& options) {
#ifdef RUSHGATE_HAS_MYSQL
  return open_mysql_order_store(url, {.create_if_missing = options.create_if_missing,
                                      .read_only = options.read_only,
                                      .logger = options.logger});
#else
  static_cast<void>(url);
  static_cast<void>(options);
  return not_built("MariaDB", "RUSHGATE_MYSQL");
#endif
}

}  // namespace

absl::StatusOr<std::unique_ptr<OrderStore>> open_order_store(std::string_view url,
                                                             const OpenOrderStoreOptions& options) {
  if (url == "memory:") {
    if (!options.create_if_missing || options.read_only) {
      return absl::NotFoundError("orders in memory: are those of another process, or none");
    }
    return std::make_unique<MemoryOrderStore>();
  }
  const std::string_view scheme = url.substr(0, std::min(url.find(':'), url.size()));
  if (scheme == "sqlite" && scheme.size() < url.size()) {
    return open_sqlite(url.substr(scheme.size() + 1), options);
  }
  if (scheme == "postgresql" || scheme == "postgres") return open_postgresql(url, options);
  if (scheme == "mysql" || scheme == "mariadb") return open_mysql(url, options);
  return bad_orders_url(
      concat("\"", scheme, "\" is none of sqlite:, postgresql://, mysql:// and memory:"));
}

}  // namespace rushgate
