// Reads and writes the table `voucher_versions`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include "absl/status/status.h"
#include "storage/sqlite/query.h"
#include <rushgate/order_store.h>

namespace rushgate {

// Both classes keep prepared statements of one connection, which must outlive them. They are not
// thread-safe. All functions throw SQLite::Exception.

/// Returns a query of the versions in `table`, with `rest` after its name (AS v).
std::string select_versions(std::string_view table, std::string_view rest);
/// The columns of a table of versions, in the order of to_version().
std::string version_columns();
VoucherVersion to_version(const Query& row);
/// Binds a version in the order of version_columns().
void bind_version(Query& query, const VoucherVersion& version);

class VoucherReader {
 public:
  explicit VoucherReader(const SQLite::Database& database);

  std::vector<VoucherVersion> versions(VoucherId voucher);
  std::vector<VoucherVersion> all_versions();
  std::vector<VoucherVersion> pending();
  std::optional<VoucherVersion> latest(VoucherId voucher);
  std::optional<VoucherVersion> applied(VoucherId voucher);
  std::vector<VoucherVersion> all_applied();

 private:
  SQLite::Statement versions_;
  SQLite::Statement all_versions_;
  SQLite::Statement pending_;
  SQLite::Statement latest_;
  SQLite::Statement applied_;
  SQLite::Statement all_applied_;
};

class VoucherWriter {
 public:
  explicit VoucherWriter(const SQLite::Database& database);

  // Must run in a transaction. Errors are those of VoucherStore.
  absl::Status record_pending(const VoucherVersion& version);
  absl::Status resolve(VoucherId voucher, std::int64_t version, VoucherVersion::State state,
                       const std::string& reason);

 private:
  SQLite::Statement is_archived_;
  SQLite::Statement highest_;
  SQLite::Statement insert_;
  SQLite::Statement state_;
  SQLite::Statement resolve_;
};

}  // namespace rushgate
