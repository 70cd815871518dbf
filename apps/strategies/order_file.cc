#include "apps/strategies/order_file.h"

namespace rushgate::strategies {
namespace {

constexpr int kFilePatienceMs = 60'000;

}  // namespace

OrderFile::OrderFile(const std::filesystem::path& dir)
    : database_(in(dir).string(),
                SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE | SQLite::OPEN_NOMUTEX,
                kFilePatienceMs) {
  // The same as the sale's own database: a commit is on disk when it returns.
  database_.exec("PRAGMA journal_mode = WAL");
  database_.exec("PRAGMA synchronous = FULL");
}

void OrderFile::create(std::int64_t stock) {
  database_.exec(
      "CREATE TABLE voucher (stock INTEGER NOT NULL, version INTEGER NOT NULL) STRICT;"
      "CREATE TABLE orders (id INTEGER PRIMARY KEY, user_id INTEGER NOT NULL) STRICT;"
      "CREATE INDEX orders_by_user ON orders (user_id)");
  change("INSERT INTO voucher VALUES (?, 0)", stock);
}

SQLite::Statement& OrderFile::prepared(std::string_view sql) {
  const auto known = statements_.find(sql);
  if (known != statements_.end()) return known->second;
  return statements_.emplace(sql, SQLite::Statement(database_, std::string(sql))).first->second;
}

OrderCounts count_orders(const std::filesystem::path& dir) {
  const SQLite::Database database(OrderFile::in(dir).string(), SQLite::OPEN_READONLY,
                                  kFilePatienceMs);
  SQLite::Statement users(database, "SELECT user_id, count(*) FROM orders GROUP BY user_id");
  OrderCounts counts;
  while (users.executeStep()) {
    const std::int64_t orders = users.getColumn(1).getInt64();
    counts.by_user[users.getColumn(0).getInt64()] = orders;
    counts.orders += orders;
  }
  return counts;
}

}  // namespace rushgate::strategies
