#include "storage/sqlite/voucher_table.h"

#include <cstddef>
#include <string_view>

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "engine/sale/model/voucher_terms.h"
#include "storage/sqlite/query.h"
#include <rushgate/archive_store.h>

namespace rushgate {
namespace {

// The columns that are no terms come first.
constexpr int kOtherColumns = 5;

/// Returns the columns of the terms, each after a comma.
std::string term_columns() {
  std::string columns;
  for (const VoucherTerm& term : kVoucherTerms) columns += concat(", ", term.column);
  return columns;
}

/// Returns a query of the table, with `rest` after its name.
std::string select(std::string_view rest) { return select_versions("voucher_versions", rest); }

// The numbers of states in SQL are those of VoucherVersion::State.
constexpr char kHighestFirst[] = " ORDER BY version DESC LIMIT 1";

std::vector<VoucherVersion> read_all(Query query) {
  std::vector<VoucherVersion> versions;
  while (query.next()) versions.push_back(to_version(query));
  return versions;
}

std::optional<VoucherVersion> read_first(Query query) {
  if (!query.next()) return std::nullopt;
  return to_version(query);
}

}  // namespace

std::string version_columns() {
  return concat("voucher_id, version, state, reason, title", term_columns());
}

std::string select_versions(std::string_view table, std::string_view rest) {
  return concat("SELECT ", version_columns(), " FROM ", table, " AS v", rest);
}

void bind_version(Query& query, const VoucherVersion& version) {
  query.bind_all(version.voucher.id, version.version, static_cast<std::int64_t>(version.state),
                 version.reason, version.voucher.title);
  for (const VoucherTerm& term : kVoucherTerms) query.bind_next(term.get(version.voucher));
}

VoucherVersion to_version(const Query& row) {
  VoucherVersion version = {.voucher = {.id = row.integer(0), .title = row.text(4)},
                            .version = row.integer(1),
                            .state = static_cast<VoucherVersion::State>(row.integer(2)),
                            .reason = row.text(3)};
  int column = kOtherColumns;
  for (const VoucherTerm& term : kVoucherTerms) term.set(version.voucher, row.integer(column++));
  return version;
}

VoucherReader::VoucherReader(const SQLite::Database& database)
    : versions_(database, select(" WHERE voucher_id = ?1 ORDER BY version")),
      all_versions_(database, select(" ORDER BY voucher_id, version")),
      pending_(database, select(" WHERE state = 0 ORDER BY voucher_id, version")),
      latest_(database, select(concat(" WHERE voucher_id = ?1", kHighestFirst))),
      applied_(database, select(concat(" WHERE voucher_id = ?1 AND state = 1", kHighestFirst))),
      all_applied_(database,
                   select(" WHERE state = 1 AND NOT EXISTS (SELECT 1 FROM voucher_versions "
                          "WHERE voucher_id = v.voucher_id AND version > v.version AND "
                          "state = 1) ORDER BY voucher_id")) {}

std::vector<VoucherVersion> VoucherReader::versions(VoucherId voucher) {
  return read_all(Query(versions_, voucher));
}
std::vector<VoucherVersion> VoucherReader::all_versions() { return read_all(Query(all_versions_)); }
std::vector<VoucherVersion> VoucherReader::pending() { return read_all(Query(pending_)); }
std::optional<VoucherVersion> VoucherReader::latest(VoucherId voucher) {
  return read_first(Query(latest_, voucher));
}
std::optional<VoucherVersion> VoucherReader::applied(VoucherId voucher) {
  return read_first(Query(applied_, voucher));
}
std::vector<VoucherVersion> VoucherReader::all_applied() { return read_all(Query(all_applied_)); }

VoucherWriter::VoucherWriter(const SQLite::Database& database)
    : is_archived_(database, "SELECT 1 FROM archived_vouchers WHERE voucher_id = ?1"),
      highest_(database,
               "SELECT ifnull(max(version), 0) FROM voucher_versions "
               "WHERE voucher_id = ?1"),
      insert_(database, insert_row("voucher_versions", version_columns())),
      state_(database, "SELECT state FROM voucher_versions WHERE voucher_id = ?1 AND version = ?2"),
      resolve_(database,
               "UPDATE voucher_versions SET state = ?3, reason = ?4 "
               "WHERE voucher_id = ?1 AND version = ?2") {}

absl::Status VoucherWriter::record_pending(const VoucherVersion& version) {
  const Voucher& voucher = version.voucher;
  if (Query(is_archived_, voucher.id).next()) return archived_error(voucher.id);
  Query highest(highest_, voucher.id);
  highest.next();
  RETURN_IF_ERROR(check_next_version(version, highest.integer(0)));
  VoucherVersion pending = version;
  pending.state = VoucherVersion::State::kPending;
  pending.reason.clear();
  Query insert(insert_);
  bind_version(insert, pending);
  insert.next();
  return absl::OkStatus();
}

absl::Status VoucherWriter::resolve(VoucherId voucher, std::int64_t version,
                                    VoucherVersion::State state, const std::string& reason) {
  std::optional<VoucherVersion::State> current;
  if (Query row(state_, voucher, version); row.next()) {
    current = static_cast<VoucherVersion::State>(row.integer(0));
  }
  const absl::Status checked = check_resolution(voucher, version, current, state);
  if (!checked.ok() || current == state) return checked;
  Query(resolve_, voucher, version, static_cast<std::int64_t>(state), reason).next();
  return absl::OkStatus();
}

}  // namespace rushgate
