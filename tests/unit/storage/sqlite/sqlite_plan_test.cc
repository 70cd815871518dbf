// The constraints and indices of the database itself.
#include <string>
#include <utility>

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>

#include "engine/core/base/concat.h"
#include "tests/unit/storage/sqlite/sqlite_fixture.h"

namespace rushgate {
namespace {

class SqlitePlanTest : public SqliteTest {
 protected:
  void SetUp() override { open(); }

  /// Returns SQLite's plan for a query.
  std::string plan(const std::string& sql) {
    SQLite::Database raw = open_raw();
    SQLite::Statement explain(raw, "EXPLAIN QUERY PLAN " + sql);
    std::string text;
    while (explain.executeStep()) text += explain.getColumn(3).getString() + "\n";
    return text;
  }
};

TEST_F(SqlitePlanTest, DatabaseForbidsSecondLiveOrderUnderLimitOne) {
  SQLite::Database raw = open_raw();
  const auto insert = [&](const char* values) {
    raw.exec(std::string("INSERT INTO orders (id, user_id, voucher_id, status, user_limit, "
                         "admitted_at_ms, entry_ms, entry_seq) VALUES ") +
             values);
  };
  insert("(1, 5, 7, 1, 1, 0, 0, 0)");
  for (const char* const live : {"1", "2", "3", "4", "5"}) {
    EXPECT_THROW(insert((std::string("(2, 5, 7, ") + live + ", 1, 0, 0, 0)").c_str()),
                 SQLite::Exception);
  }
  insert("(3, 5, 7, 6, 1, 0, 0, 0)");  // not live
  insert("(4, 5, 7, 7, 1, 0, 0, 0)");  // not live
  insert("(5, 5, 7, 1, 2, 0, 0, 0)");  // another limit
  insert("(6, 5, 8, 1, 1, 0, 0, 0)");  // another voucher
  insert("(7, 6, 7, 1, 1, 0, 0, 0)");  // another user
  raw.exec("UPDATE orders SET status = 6 WHERE id = 1");
  insert("(8, 5, 7, 2, 1, 0, 0, 0)");  // the first was cancelled
}

TEST_F(SqlitePlanTest, UserPiecesCountReadsOnlyIndex) {
  const std::string text = plan(
      "SELECT quantity FROM orders INDEXED BY orders_other WHERE user_id = 1 AND voucher_id = 2 "
      "AND status <= 5 AND NOT (status <= 5 AND user_limit = 1)");
  EXPECT_NE(text.find("COVERING INDEX orders_other (user_id=? AND voucher_id=? AND status<?)"),
            std::string::npos)
      << text;
}

TEST_F(SqlitePlanTest, OrderOfKeyComesFromIndex) {
  for (const std::string table : {"orders", "archived_orders"}) {
    const std::string text =
        plan(concat("SELECT * FROM ", table, " INDEXED BY ", table,
                    "_by_key WHERE idempotency_key = 'click' AND key_expires_at_ms >= 5 AND "
                    "idempotency_key <> ''")
                 .c_str());
    EXPECT_NE(text.find(table + "_by_key (idempotency_key=? AND key_expires_at_ms>?)"),
              std::string::npos)
        << text;
  }
}

TEST_F(SqlitePlanTest, GreatestIdIsOneTableLookup) {
  const std::string text = plan("SELECT coalesce(max(id), 0) FROM orders WHERE id < 5");
  EXPECT_NE(text.find("SEARCH orders USING INTEGER PRIMARY KEY (rowid<?)"), std::string::npos)
      << text;
}

TEST_F(SqlitePlanTest, VoucherOrdersComeFromIndexInOrder) {
  const std::string text = plan(
      "SELECT * FROM orders INDEXED BY orders_by_voucher WHERE id > 5 AND voucher_id = 7 "
      "ORDER BY id LIMIT 10");
  EXPECT_NE(text.find("orders_by_voucher (voucher_id=? AND rowid>?)"), std::string::npos) << text;
  EXPECT_EQ(text.find("TEMP B-TREE"), std::string::npos) << text;
}

TEST_F(SqlitePlanTest, OpenStatesHaveTheirIndices) {
  for (const auto& [index, status] : {std::pair("orders_unpaid", 2), {"orders_refunding", 5}}) {
    const std::string text =
        plan(std::string("SELECT * FROM orders INDEXED BY ") + index +
             " WHERE id > 5 AND voucher_id = 7 AND status = " + std::to_string(status) +
             " ORDER BY id LIMIT 10");
    EXPECT_NE(text.find(std::string(index) + " (voucher_id=? AND rowid>?)"), std::string::npos)
        << text;
    EXPECT_EQ(text.find("TEMP B-TREE"), std::string::npos) << text;
  }
}

TEST_F(SqlitePlanTest, PaymentsComeFromIndexInOrder) {
  const auto expect = [&](const char* conditions, const char* search) {
    const std::string text =
        plan(std::string("SELECT * FROM payments ") + conditions + " ORDER BY id LIMIT 10");
    EXPECT_NE(text.find(search), std::string::npos) << text;
    EXPECT_EQ(text.find("TEMP B-TREE"), std::string::npos) << text;
  };
  expect("WHERE id > 'p'", "USING PRIMARY KEY (id>?)");
  expect("WHERE id > 'p' AND state = 1", "USING PRIMARY KEY (id>?)");
  expect("INDEXED BY payments_by_order WHERE id > 'p' AND order_id = 7",
         "payments_by_order (order_id=? AND id>?)");
  expect("INDEXED BY payments_due WHERE id > 'p' AND state = 2", "payments_due (id>?)");
  const std::string text =
      plan("UPDATE payments SET state = 2, reason = '' WHERE order_id = 7 AND state = 1");
  EXPECT_NE(text.find("payments_by_order (order_id=?)"), std::string::npos) << text;
}

TEST_F(SqlitePlanTest, OrderChangesComeFromIndexInOrder) {
  const std::string text = plan(
      "SELECT * FROM order_changes INDEXED BY order_changes_by_order WHERE order_id = 7 AND "
      "position > 5 ORDER BY position LIMIT 10");
  EXPECT_NE(text.find("order_changes_by_order (order_id=? AND rowid>?)"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("TEMP B-TREE"), std::string::npos) << text;
}

}  // namespace
}  // namespace rushgate
