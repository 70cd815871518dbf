// A MariaDB as a database of storage/sql.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "storage/sql/pool.h"

namespace rushgate {

/// Reads the URL of open_mysql_order_store(). Does not connect. kInvalidArgument: the URL is wrong.
absl::StatusOr<sql::DatabaseAt> mysql_database(std::string_view url);

}  // namespace rushgate
