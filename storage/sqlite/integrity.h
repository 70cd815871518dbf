// Checks an order database for contradictions within it.
#pragma once

#include <SQLiteCpp/Database.h>

#include "absl/status/status.h"

namespace rushgate {

/// Returns kDataLoss with the first contradictions of the whole database, of one moment:
/// - damage that SQLite finds: pages, rows, and differences between indexes and tables;
/// - tables, columns or indexes of the schema that are missing or different;
/// - counts in live_orders that are not those of the orders;
/// - payments that are missing, or have another amount than when they were counted;
/// - changes that are missing: their positions have no gaps until archived orders are deleted;
/// - rows that are in a table and in the archive, and archived orders or vouchers without the other.
///
/// Throws SQLite::Exception.
absl::Status check_whole(SQLite::Database& database);

}  // namespace rushgate
