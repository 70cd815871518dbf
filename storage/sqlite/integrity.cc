#include "storage/sqlite/integrity.h"

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>

#include "absl/strings/str_join.h"
#include "engine/core/base/concat.h"
#include "storage/sqlite/order_table.h"
#include "storage/sqlite/payment_table.h"
#include "storage/sqlite/schema.h"

namespace rushgate {
namespace {

// Problems that one report names, of each kind.
constexpr int kProblemsMax = 10;

using Problems = std::vector<std::string>;

/// Adds the first column of each row of a query, which describes a problem.
void add_rows(SQLite::Database& database, const std::string& sql, Problems& problems) {
  SQLite::Statement rows(database, concat(sql, " LIMIT ", kProblemsMax));
  while (rows.executeStep()) problems.push_back(rows.getColumn(0).getString());
}

/// Compares indexes with their tables, unlike quick_check.
void check_pages(SQLite::Database& database, Problems& problems) {
  SQLite::Statement check(database, concat("PRAGMA integrity_check(", kProblemsMax, ")"));
  while (check.executeStep()) {
    std::string line = check.getColumn(0).getString();
    if (line != "ok") problems.push_back(std::move(line));
  }
}

/// The tables, columns and indexes of a database, each with its declaration. A table's own SQL
/// differs after a migration by another version of SQLite, so its columns stand for it.
std::map<std::string, std::string> read_schema(SQLite::Database& database) {
  std::map<std::string, std::string> schema;
  SQLite::Statement parts(database, R"sql(
SELECT 'index ' || name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL
UNION ALL
SELECT 'column ' || t.name || '.' || c.name,
       c.type || ' ' || c."notnull" || ' ' || coalesce(c.dflt_value, '-') || ' ' || c.pk
FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'
)sql");
  while (parts.executeStep()) {
    schema.emplace(parts.getColumn(0).getString(), parts.getColumn(1).getString());
  }
  return schema;
}

/// The schema of a new database.
std::map<std::string, std::string> make_schema() {
  SQLite::Database fresh(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  for (const char* const migration : migrations()) fresh.exec(migration);
  return read_schema(fresh);
}

void check_schema(SQLite::Database& database, Problems& problems) {
  static const std::map<std::string, std::string> kWanted = make_schema();
  const auto present = read_schema(database);
  for (const auto& [part, declaration] : kWanted) {
    const auto found = present.find(part);
    if (found == present.end()) {
      problems.push_back(concat("its ", part, " is missing"));
    } else if (found->second != declaration) {
      problems.push_back(
          concat("its ", part, " is declared as ", found->second, ", not as ", declaration));
    }
  }
}

// An archived voucher has no count, and its orders move in portions.
std::string wrong_counts() {
  return concat(R"sql(
WITH counted AS (
  SELECT voucher_id, sum(CASE WHEN )sql",
                live_rows(), " OR keeps & ", kKeepsStock, R"sql(
                              THEN quantity ELSE 0 END) AS live
  FROM orders GROUP BY voucher_id
), vouchers AS (
  SELECT voucher_id FROM live_orders UNION SELECT voucher_id FROM counted
)
SELECT 'voucher ' || v.voucher_id || ': live_orders counts ' || coalesce(l.live, 0) ||
       ' pieces, and the orders have ' || coalesce(c.live, 0)
FROM vouchers AS v LEFT JOIN live_orders AS l USING (voucher_id)
                   LEFT JOIN counted AS c USING (voucher_id)
WHERE coalesce(l.live, 0) <> coalesce(c.live, 0)
  AND v.voucher_id NOT IN (SELECT voucher_id FROM archived_vouchers)
)sql");
}

// Positions are never given twice, and a transaction that is rolled back gives none.
constexpr char kLostChanges[] = R"sql(
WITH positions AS (
  SELECT position FROM order_changes UNION ALL SELECT position FROM archived_changes
), given AS (
  SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'order_changes'), 0) AS last
)
SELECT 'of the changes 1 to ' || last || ', ' || (SELECT count(*) FROM positions) ||
       ' are there, the last one is ' || coalesce((SELECT max(position) FROM positions), 0)
FROM given
WHERE (SELECT coalesce(max(position), 0) FROM positions) > last
   OR ((SELECT count(*) FROM positions) <> last
       AND NOT EXISTS (SELECT 1 FROM archived_vouchers WHERE deleted <> 0))
)sql";

constexpr char kWrongTotals[] = R"sql(
SELECT 'payment_totals counts ' || coalesce(payments, 0) || ' payments of ' || coalesce(cents, 0) ||
       ' cents, and there are ' || here || ' of ' || amount
FROM (
  SELECT count(*) AS here, coalesce(sum(amount_cents % 1000000000), 0) AS amount
  FROM (SELECT amount_cents FROM payments UNION ALL SELECT amount_cents FROM archived_payments)
) LEFT JOIN payment_totals
WHERE payments IS NOT here OR cents IS NOT amount
)sql";
static_assert(kCountedCents == 1'000'000'000);

constexpr const char* kContradictions[] = {
    kLostChanges, kWrongTotals,
    R"sql(
SELECT 'order ' || id || ' is archived and not archived'
FROM orders JOIN archived_orders USING (id)
)sql",
    R"sql(
SELECT 'payment ' || id || ' is archived and not archived'
FROM payments JOIN archived_payments USING (id)
)sql",
    R"sql(
SELECT 'change ' || position || ' is archived and not archived'
FROM order_changes JOIN archived_changes USING (position)
)sql",
    R"sql(
SELECT DISTINCT 'voucher ' || voucher_id || ' is archived and has versions'
FROM voucher_versions JOIN archived_vouchers USING (voucher_id)
)sql",
    R"sql(
SELECT 'voucher ' || voucher_id || ' is archived without a version' FROM archived_vouchers
WHERE voucher_id NOT IN (SELECT voucher_id FROM archived_versions WHERE state = 1)
)sql",
    R"sql(
SELECT DISTINCT 'voucher ' || voucher_id || ' has archived versions and is not archived'
FROM archived_versions WHERE voucher_id NOT IN (SELECT voucher_id FROM archived_vouchers)
)sql",
    R"sql(
SELECT DISTINCT 'voucher ' || voucher_id || ' has archived orders and is not archived'
FROM archived_orders WHERE voucher_id NOT IN (SELECT voucher_id FROM archived_vouchers)
)sql",
    R"sql(
SELECT 'payment ' || id || ' is archived, and its order ' || order_id || ' is not'
FROM archived_payments WHERE order_id NOT IN (SELECT id FROM archived_orders)
)sql",
    R"sql(
SELECT 'change ' || position || ' is archived, and its order ' || order_id || ' is not'
FROM archived_changes WHERE order_id NOT IN (SELECT id FROM archived_orders)
)sql",
};

}  // namespace

absl::Status check_whole(SQLite::Database& database) {
  Problems problems;
  SQLite::Transaction one_moment(database);
  check_pages(database, problems);
  if (problems.empty()) check_schema(database, problems);
  if (problems.empty()) {
    add_rows(database, wrong_counts(), problems);
    for (const char* const sql : kContradictions) add_rows(database, sql, problems);
  }
  if (problems.empty()) return absl::OkStatus();
  return absl::DataLossError(
      concat(database.getFilename(), " is damaged: ", absl::StrJoin(problems, "; ")));
}

}  // namespace rushgate
