// Opening: URLs, the creation of the tables, and databases that are not ours.
#include <fstream>
#include <string>
#include <vector>

#include "storage/postgresql/postgresql_status.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/storage/postgresql/postgresql_fixture.h"

namespace rushgate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using PostgresqlOpenTest = PostgresqlTest;

std::string message_of(const std::string& url, const PostgresqlOrderStoreOptions& options = {}) {
  return open_postgresql_order_store(url, options).status().ToString();
}

TEST_F(PostgresqlOpenTest, ConcurrentProcessesCreateTablesOnce) {
  expect_opened_at_once([&] { return open_orders_at(url_); });
}

TEST_F(PostgresqlOpenTest, ConcurrentProcessesMigrateTablesOnce) {
  expect_writes(*open_orders_at(url_), 1);
  const std::string newest = execute("SELECT version FROM database_state");
  execute(
      "DROP TABLE lane_states, lane_reserved_ids, voucher_lanes, moved_pieces; "
      "ALTER TABLE voucher_versions DROP COLUMN lanes; "
      "ALTER TABLE archived_versions DROP COLUMN lanes; UPDATE database_state SET version = 1");
  expect_opened_at_once([&] { return open_orders_at(url_); });
  EXPECT_EQ(execute("SELECT version FROM database_state"), newest);
  EXPECT_EQ(open_orders_at(url_)->count_live(1).value(), 1);
}

TEST_F(PostgresqlOpenTest, IndexesAndReadersOfOthersDoNoHarm) {
  expect_writes(*open_orders_at(url_), 1);
  execute(
      "CREATE INDEX mine ON orders (reference); CREATE VIEW my_orders AS SELECT * FROM orders; "
      "CREATE ROLE reader LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader");
  const auto store = open_orders_at(url_);
  expect_writes(*store, 2);
  EXPECT_TRUE(store->check_integrity().ok());
  std::string url = url_;
  url.replace(url.find("rushgate@"), 8, "reader");
  EXPECT_EQ(server_.execute(url, "SELECT count(*) FROM orders_readable"), "2");
  EXPECT_THAT(error_of(*open_orders_at(url), 3), HasSubstr("permission denied"));
  execute("DROP OWNED BY reader; DROP ROLE reader");
}

TEST_F(PostgresqlOpenTest, MissingTablesAreCreatedOnlyIfWanted) {
  EXPECT_THAT(message_of(url_, {.create_if_missing = false}), HasSubstr("there are no orders"));
  EXPECT_THAT(message_of(url_, {.read_only = true}), HasSubstr("NOT_FOUND"));
  EXPECT_EQ(execute("SELECT count(to_regclass('orders'))"), "0");
  open_orders_at(url_);
  EXPECT_TRUE(open_postgresql_order_store(url_, {.create_if_missing = false}).ok());
}

TEST_F(PostgresqlOpenTest, OthersTablesAreLeftAlone) {
  execute("CREATE TABLE orders (mine int)");
  EXPECT_THAT(message_of(url_), HasSubstr("a table `orders` of another application"));
  EXPECT_EQ(execute("SELECT count(to_regclass('live_orders'))"), "0");
}

TEST_F(PostgresqlOpenTest, SchemaOfOwnIsUsed) {
  execute("CREATE SCHEMA sale; CREATE TABLE orders (mine int)");
  EXPECT_TRUE(open_orders_at(with("options=-csearch_path%3Dsale")));
  EXPECT_EQ(execute("SELECT count(*) FROM sale.orders"), "0");
}

TEST_F(PostgresqlOpenTest, NewerTablesAreRefused) {
  open_orders_at(url_);
  execute("UPDATE database_state SET version = version + 1");
  EXPECT_THAT(message_of(url_), HasSubstr("written by a newer Rushgate"));
}

TEST_F(PostgresqlOpenTest, PeopleReadOrdersAsText) {
  const auto store = open_orders_at(url_);
  std::vector<Order> orders = orders_from(1, 2);
  orders[0].user = UserId("j\xc3\xbcrgen");
  orders[0].reference = "cart \xc3\xa4";
  orders[1].reference = std::string("\0\xff", 2);
  ASSERT_TRUE(write_orders(*store, orders).ok());
  EXPECT_EQ(execute("SELECT user_id || ', ' || reference || ', ' || status FROM orders_readable "
                    "WHERE id = 1"),
            "j\xc3\xbcrgen, cart \xc3\xa4, created");
  EXPECT_EQ(execute("SELECT user_id || ', ' || reference FROM orders_readable WHERE id = 2"),
            "2, \\000\\377");
  EXPECT_EQ(execute("SELECT col_description('orders'::regclass, attnum) FROM pg_attribute WHERE "
                    "attrelid = 'orders'::regclass AND attname = 'price_cents'"),
            "of one piece");
}

TEST_F(PostgresqlOpenTest, WrongUrlIsNamedWithoutPassword) {
  for (const std::string& url :
       {std::string("postgresql://me:s3cret@host/db?no_such_option=1"),
        std::string("postgresql://me:s3cret%ZZ@host/db"),
        std::string("postgresql://me:s3cret@127.0.0.1:1/db?connect_timeout=1"), with("pool_size=0"),
        with("statement_timeout_ms=x"), with("password_file=/no/such/file")}) {
    const std::string message = message_of(url);
    EXPECT_THAT(message, Not(HasSubstr("s3cret"))) << url;
    EXPECT_THAT(message, Not(HasSubstr("OK"))) << url;
  }
  EXPECT_THAT(message_of("postgresql://me:s3cret@host/db?no_such_option=1"),
              HasSubstr("no_such_option"));
  EXPECT_THAT(message_of(with("pool_size=0")), HasSubstr("pool_size is not from 1 to 100"));
}

TEST_F(PostgresqlOpenTest, PasswordMayBeInFile) {
  const TemporaryDirectory directory;
  const std::string file = (directory.path() / "password").string();
  std::ofstream(file) << "s3cret\n";
  EXPECT_TRUE(open_orders_at(with("password_file=" + file + "&pool_size=2")));
}

TEST(PostgresqlStatusTest, OnlyConstraintsCountAgainstOrders) {
  using Code = absl::StatusCode;
  for (const auto& [sqlstate, code] : std::vector<std::pair<std::string, Code>>{
           {"23505", Code::kInvalidArgument}, {"23514", Code::kInvalidArgument},
           {"22003", Code::kInvalidArgument}, {"40001", Code::kAborted},
           {"40P01", Code::kAborted},         {"53100", Code::kUnavailable},
           {"53300", Code::kUnavailable},     {"55P03", Code::kUnavailable},
           {"57014", Code::kUnavailable},     {"57P01", Code::kUnavailable},
           {"08006", Code::kUnavailable},     {"25006", Code::kUnavailable},
           {"25P03", Code::kUnavailable},     {"58030", Code::kUnavailable},
           {"42703", Code::kInternal},        {"42501", Code::kInternal},
           {"42P01", Code::kNotFound},        {"42P07", Code::kAlreadyExists},
           {"XX000", Code::kInternal},        {"XX001", Code::kDataLoss}}) {
    EXPECT_EQ(code_of_sqlstate(sqlstate), code) << sqlstate;
  }
}

}  // namespace
}  // namespace rushgate
