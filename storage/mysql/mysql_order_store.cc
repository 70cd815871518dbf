#include <utility>

#include "engine/core/base/status_macros.h"
#include "storage/mysql/mysql_database.h"
#include "storage/sql/sql_order_store.h"
#include <rushgate/mysql_order_store.h>

namespace rushgate {

absl::StatusOr<std::unique_ptr<OrderStore>> open_mysql_order_store(
    std::string_view url, const MysqlOrderStoreOptions& options) {
  ASSIGN_OR_RETURN(auto database, mysql_database(url));
  ASSIGN_OR_RETURN(auto store,
                   sql::SqlOrderStore::open(std::move(database),
                                            {.create_if_missing = options.create_if_missing,
                                             .read_only = options.read_only},
                                            options.logger));
  return store;
}

}  // namespace rushgate
