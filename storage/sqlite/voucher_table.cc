#include "storage/sqlite/voucher_table.h"

#include "absl/strings/str_cat.h"
#include "storage/sqlite/query.h"

namespace rushgate {
namespace {

constexpr char kSelect[] =
    "SELECT voucher_id, version, state, reason, title, stock, begin_ms, end_ms, price_cents, "
    "limit_total, limit_per_user, limit_per_user_day, utc_offset_minutes FROM voucher_versions AS "
    "v";

// The numbers of states in SQL are those of VoucherVersion::State.
constexpr char kHighestFirst[] = " ORDER BY version DESC LIMIT 1";

VoucherVersion read_version(const Query& row) {
  return {.voucher = {.id = row.integer(0),
                      .title = row.text(4),
                      .stock = row.integer(5),
                      .begin_ms = row.integer(6),
                      .end_ms = row.integer(7),
                      .price_cents = row.integer(8),
                      .limits = {.total = row.integer(9),
                                 .per_user = row.integer(10),
                                 .per_user_day = row.integer(11),
                                 .utc_offset_minutes = static_cast<std::int32_t>(row.integer(12))}},
          .version = row.integer(1),
          .state = static_cast<VoucherVersion::State>(row.integer(2)),
          .reason = row.text(3)};
}

std::vector<VoucherVersion> read_all(Query query) {
  std::vector<VoucherVersion> versions;
  while (query.next()) versions.push_back(read_version(query));
  return versions;
}

std::optional<VoucherVersion> read_first(Query query) {
  if (!query.next()) return std::nullopt;
  return read_version(query);
}

}  // namespace

VoucherReader::VoucherReader(const SQLite::Database& database)
    : versions_(database, absl::StrCat(kSelect, " WHERE voucher_id = ?1 ORDER BY version")),
      all_versions_(database, absl::StrCat(kSelect, " ORDER BY voucher_id, version")),
      pending_(database, absl::StrCat(kSelect, " WHERE state = 0 ORDER BY voucher_id, version")),
      latest_(database, absl::StrCat(kSelect, " WHERE voucher_id = ?1", kHighestFirst)),
      applied_(database,
               absl::StrCat(kSelect, " WHERE voucher_id = ?1 AND state = 1", kHighestFirst)),
      all_applied_(database,
                   absl::StrCat(kSelect,
                                " WHERE state = 1 AND NOT EXISTS (SELECT 1 FROM voucher_versions "
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
    : highest_(database,
               "SELECT ifnull(max(version), 0) FROM voucher_versions "
               "WHERE voucher_id = ?1"),
      insert_(database,
              "INSERT INTO voucher_versions (voucher_id, version, state, reason, title, stock, "
              "begin_ms, end_ms, price_cents, limit_total, limit_per_user, limit_per_user_day, "
              "utc_offset_minutes) VALUES (?1, ?2, 0, '', ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"),
      state_(database, "SELECT state FROM voucher_versions WHERE voucher_id = ?1 AND version = ?2"),
      resolve_(database,
               "UPDATE voucher_versions SET state = ?3, reason = ?4 "
               "WHERE voucher_id = ?1 AND version = ?2") {}

absl::Status VoucherWriter::record_pending(const VoucherVersion& version) {
  const Voucher& voucher = version.voucher;
  Query highest(highest_, voucher.id);
  highest.next();
  const absl::Status is_next = check_next_version(version, highest.integer(0));
  if (!is_next.ok()) return is_next;
  Query(insert_, voucher.id, version.version, voucher.title, voucher.stock, voucher.begin_ms,
        voucher.end_ms, voucher.price_cents, voucher.limits.total, voucher.limits.per_user,
        voucher.limits.per_user_day, voucher.limits.utc_offset_minutes)
      .next();
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
