// Moves ended sales to the tables of the archive, and deletes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/sql/pool.h"
#include "storage/sql/sql_port.h"
#include <rushgate/archive_store.h>

namespace rushgate::sql {

// As in ArchiveStore, in a transaction. Its own errors are decided().
absl::Status archive_voucher(Transaction& transaction, VoucherId voucher, std::int64_t at_ms);
absl::StatusOr<std::size_t> archive_orders(const Database& database, Transaction& transaction,
                                           VoucherId voucher, std::size_t count_max);
absl::StatusOr<std::size_t> delete_orders(const Database& database, Transaction& transaction,
                                          VoucherId voucher, std::size_t count_max);

/// Returns the query of ArchiveStore::archived_vouchers().
std::string select_archived_vouchers();
ArchivedVoucher to_archived_voucher(const Row& row);

}  // namespace rushgate::sql
