#include "storage/sql/integrity.h"

#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "storage/sql/common_sql.h"

namespace rushgate::sql {
namespace {

constexpr char kChecking[] = "checking";
constexpr std::size_t kNamedMax = 10;  // of each kind

/// A query whose rows are what is wrong, each by its first column: a number, or a text.
struct Contradiction {
  const char* what;  // "order"
  std::string query;
  const char* is;  // "is archived and not archived"
};

std::string in_both(const char* table, const char* archive, const char* key) {
  return concat("SELECT a.", key, " FROM ", archive, " AS a JOIN ", table, " AS b ON a.", key,
                " = b.", key);
}

/// Returns the query of the rows of a table whose `key` is missing in the column of another one.
std::string without(const char* shown, const char* table, const char* key, const char* other,
                    const char* other_key) {
  return concat("SELECT DISTINCT ", shown, " FROM ", table,
                " AS a WHERE NOT EXISTS (SELECT 1 FROM ", other, " AS b WHERE b.", other_key,
                " = a.", key, ")");
}

std::vector<Contradiction> contradictions() {
  return {
      {"order", in_both("orders", "archived_orders", "id"), "is archived and not archived"},
      {"payment", in_both("payments", "archived_payments", "id"), "is archived and not archived"},
      {"change", in_both("order_changes", "archived_changes", "position"),
       "is archived and not archived"},
      {"voucher",
       "SELECT DISTINCT v.voucher_id FROM voucher_versions AS v JOIN archived_vouchers AS a ON "
       "v.voucher_id = a.voucher_id",
       "is archived and has versions"},
      {"voucher",
       "SELECT voucher_id FROM archived_vouchers WHERE voucher_id NOT IN (SELECT voucher_id FROM "
       "archived_versions WHERE state = 1)",
       "is archived without a version"},
      {"voucher",
       without("voucher_id", "archived_versions", "voucher_id", "archived_vouchers", "voucher_id"),
       "has archived versions and is not archived"},
      {"voucher",
       without("voucher_id", "archived_orders", "voucher_id", "archived_vouchers", "voucher_id"),
       "has archived orders and is not archived"},
      {"payment", without("id", "archived_payments", "order_id", "archived_orders", "id"),
       "is archived, and its order is not"},
      {"change", without("position", "archived_changes", "order_id", "archived_orders", "id"),
       "is archived, and its order is not"},
  };
}

/// Reads what is wrong into `problems`, each by `describe`.
template <class Describe>
absl::Status add_rows(Pool& pool, const std::string& query, Describe describe,
                      std::vector<std::string>& problems) {
  ASSIGN_OR_RETURN(const Rows rows,
                   pool.read(kChecking, {concat(query, " LIMIT ", to_limit(kNamedMax))}));
  for (const Row& row : rows) problems.push_back(describe(row));
  return absl::OkStatus();
}

// An archived voucher has no count, and its orders move in portions.
absl::Status check_counts(Pool& pool, std::vector<std::string>& problems) {
  const std::string pieces = pool.database().to_integer(
      concat("sum(CASE WHEN ", live_rows(), " OR keeps IN (1, 3) THEN quantity ELSE 0 END)"));
  const std::string query = concat(
      "SELECT v.voucher_id, coalesce(l.live, 0), coalesce(c.live, 0) FROM (SELECT voucher_id "
      "FROM live_orders UNION SELECT voucher_id FROM orders) AS v LEFT JOIN live_orders AS l "
      "ON l.voucher_id = v.voucher_id LEFT JOIN (SELECT voucher_id, ",
      pieces,
      " AS live FROM orders GROUP BY voucher_id) AS c ON c.voucher_id = v.voucher_id WHERE "
      "coalesce(l.live, 0) <> coalesce(c.live, 0) AND v.voucher_id NOT IN (SELECT voucher_id "
      "FROM archived_vouchers)");
  return add_rows(
      pool, query,
      [](const Row& row) {
        return concat("voucher ", row.integer(0), ": live_orders counts ", row.integer(1),
                      " pieces, and the orders have ", row.integer(2));
      },
      problems);
}

// Positions are never given twice, and a transaction that is rolled back gives none.
absl::Status check_changes(Pool& pool, std::vector<std::string>& problems) {
  return add_rows(
      pool,
      "SELECT * FROM (SELECT last_change, (SELECT count(*) FROM order_changes) + (SELECT count(*) "
      "FROM archived_changes) AS present, greatest((SELECT coalesce(max(position), 0) FROM "
      "order_changes), (SELECT coalesce(max(position), 0) FROM archived_changes)) AS greatest_one "
      "FROM database_state) AS changes WHERE greatest_one > last_change OR (present <> last_change "
      "AND NOT EXISTS (SELECT 1 FROM archived_vouchers WHERE deleted <> 0))",
      [](const Row& row) {
        return concat("of the changes 1 to ", row.integer(0), ", ", row.integer(1),
                      " are there, the last one is ", row.integer(2));
      },
      problems);
}

}  // namespace

absl::Status check_integrity(Pool& pool) {
  std::vector<std::string> problems;
  RETURN_IF_ERROR(check_counts(pool, problems));
  RETURN_IF_ERROR(check_changes(pool, problems));
  for (const Contradiction& one : contradictions()) {
    const auto describe = [&](const Row& row) {
      const std::string name = row.is_text(0) ? row.text(0) : concat(row.integer(0));
      return concat(one.what, " ", name, " ", one.is);
    };
    RETURN_IF_ERROR(add_rows(pool, one.query, describe, problems));
  }
  if (problems.empty()) return absl::OkStatus();
  return absl::DataLossError(
      concat(pool.database().name(), " contradicts itself: ", absl::StrJoin(problems, "; ")));
}

}  // namespace rushgate::sql
