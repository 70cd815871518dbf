// The constraints and indices of the database itself.
#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>

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
    raw.exec(std::string("INSERT INTO orders VALUES ") + values);
  };
  insert("(1, 5, 7, 1, 1, 0, 0, 0, 0)");
  EXPECT_THROW(insert("(2, 5, 7, 1, 1, 0, 0, 0, 0)"), SQLite::Exception);
  insert("(3, 5, 7, 2, 1, 0, 0, 0, 0)");  // not live
  insert("(4, 5, 7, 1, 2, 0, 0, 0, 0)");  // another limit
  insert("(5, 5, 8, 1, 1, 0, 0, 0, 0)");  // another voucher
  insert("(6, 6, 7, 1, 1, 0, 0, 0, 0)");  // another user
}

TEST_F(SqlitePlanTest, CountOfUserOrdersReadsOnlyIndex) {
  const std::string text = plan(
      "SELECT 1 FROM orders INDEXED BY orders_other WHERE user_id = 1 AND voucher_id = 2 AND "
      "status = 1 AND NOT (status = 1 AND user_limit = 1)");
  EXPECT_NE(text.find("COVERING INDEX orders_other (user_id=? AND voucher_id=?"), std::string::npos)
      << text;
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

}  // namespace
}  // namespace rushgate
