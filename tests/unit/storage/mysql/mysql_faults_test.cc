// What goes wrong with a MariaDB, and the databases that are not ours: nothing is lost, nothing is
// doubled, and the error says what is wrong.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/mysql/mysql_connection.h"
#include "tests/support/database_server/cutting_proxy.h"
#include "tests/support/database_server/mariadb_server.h"
#include "tests/unit/storage/sql/written_orders.h"
#include <rushgate/archive_store.h>
#include <rushgate/mysql_order_store.h>
#include <rushgate/payment_store.h>

namespace rushgate {
namespace {

using ::testing::HasSubstr;
using testing::MariadbSession;
using ::testing::Not;

std::unique_ptr<OrderStore> open_orders_in_mariadb(const std::string& url) {
  auto store = open_mysql_order_store(url);
  EXPECT_TRUE(store.ok()) << store.status();
  return store.ok() ? *std::move(store) : nullptr;
}

std::string message_of(const std::string& url, const MysqlOrderStoreOptions& options = {}) {
  return open_mysql_order_store(url, options).status().ToString();
}

class MysqlFaultsTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string with(const std::string& option) const { return url_ + "&" + option; }
  [[nodiscard]] std::string database() const { return testing::database_in(url_); }
  std::string execute(const std::string& sql) { return server_.execute(database(), sql); }

  testing::MariadbServer& server_ = testing::MariadbServer::of_program();
  const std::string url_ = server_.make_database();
};

TEST_F(MysqlFaultsTest, ConcurrentProcessesCreateTablesOnce) {
  expect_opened_at_once([&] { return open_orders_in_mariadb(url_); });
}

TEST_F(MysqlFaultsTest, ConcurrentProcessesMigrateTablesOnce) {
  expect_writes(*open_orders_in_mariadb(url_), 1);
  const std::string newest = execute("SELECT version FROM database_state");
  for (const char* const sql :
       {"DROP TABLE lane_states, lane_reserved_ids, voucher_lanes, moved_pieces",
        "ALTER TABLE voucher_versions DROP COLUMN lanes",
        "ALTER TABLE archived_versions DROP COLUMN lanes",
        "UPDATE database_state SET version = 1"}) {
    execute(sql);
  }
  expect_opened_at_once([&] { return open_orders_in_mariadb(url_); });
  EXPECT_EQ(execute("SELECT version FROM database_state"), newest);
  EXPECT_EQ(open_orders_in_mariadb(url_)->count_live(1).value(), 1);
}

TEST_F(MysqlFaultsTest, IndexesAndReadersOfOthersDoNoHarm) {
  expect_writes(*open_orders_in_mariadb(url_), 1);
  execute("CREATE INDEX mine ON orders (reference)");
  execute("CREATE VIEW my_orders AS SELECT * FROM orders");
  execute("CREATE USER reader@localhost");
  execute("GRANT SELECT ON " + database() + ".* TO reader@localhost");
  const auto store = open_orders_in_mariadb(url_);
  expect_writes(*store, 2);
  EXPECT_TRUE(store->check_integrity().ok());
  std::string url = url_;
  url.replace(url.find("root@"), 4, "reader");
  const auto of_reader = open_orders_in_mariadb(url);
  EXPECT_EQ(of_reader->list({})->size(), 2U);
  EXPECT_THAT(error_of(*of_reader, 3), HasSubstr("denied"));
  execute("DROP USER reader@localhost");
}

TEST_F(MysqlFaultsTest, InterruptedCreationIsCompleted) {
  open_orders_in_mariadb(url_);
  execute("DELETE FROM database_state");
  execute("DROP TABLE archived_changes");
  expect_writes(*open_orders_in_mariadb(url_), 1);
}

TEST_F(MysqlFaultsTest, OthersTablesAreLeftAlone) {
  execute("CREATE TABLE orders (mine int)");
  EXPECT_THAT(message_of(url_), HasSubstr("a table `orders` of another application"));
  EXPECT_THAT(message_of(server_.make_database(), {.create_if_missing = false}),
              HasSubstr("there are no orders"));
}

TEST_F(MysqlFaultsTest, WrongUrlIsNamedWithoutPassword) {
  for (const std::string url :
       {"mysql://me:s3cret@host/db?no_such_option=1", "mysql://me:s3cret%ZZ@host/db",
        "mysql://me:s3cret@host", "mysql://me:s3cret@127.0.0.1:1/db?connect_timeout=1",
        "mysql://me:s3cret@host:x/db", "mysql://me@host/db?tls=maybe"}) {
    const std::string message = message_of(url);
    EXPECT_THAT(message, Not(HasSubstr("s3cret"))) << url;
    EXPECT_THAT(message, Not(HasSubstr("OK"))) << url;
  }
}

TEST_F(MysqlFaultsTest, PeopleReadOrdersAsText) {
  const auto store = open_orders_in_mariadb(url_);
  std::vector<Order> orders = orders_from(1, 1);
  orders[0].user = UserId("anna");
  orders[0].reference = "cart 17";
  ASSERT_TRUE(write_orders(*store, orders).ok());
  EXPECT_EQ(execute("SELECT concat_ws(', ', user_id, reference, status) FROM orders_readable"),
            "anna, cart 17, created");
}

TEST_F(MysqlFaultsTest, DeadlockIsRunAgain) {
  const auto store = open_orders_in_mariadb(url_);
  expect_writes(*store, 1);
  MariadbSession other(server_.socket(), database());
  other.execute("START TRANSACTION");
  other.execute("SELECT live FROM live_orders WHERE voucher_id = 1 FOR UPDATE");
  // It has changed more, so ours is ended.
  for (OrderId day = 1; day < 50; ++day) {
    other.execute("INSERT INTO reserved_ids VALUES (" + std::to_string(day) + ", 1)");
  }
  std::thread writer([&] { expect_writes(*store, 2); });
  while (execute("SELECT variable_value FROM information_schema.global_status WHERE "
                 "variable_name = 'innodb_row_lock_current_waits'") == "0") {
  }
  other.execute("UPDATE database_state SET checkpoint = checkpoint + 1");
  other.execute("COMMIT");
  writer.join();
  EXPECT_EQ(store->count_live(1).value(), 2);
}

// New orders of a lane need the row of their lane alone. Archiving needs all lanes.
TEST_F(MysqlFaultsTest, LanesStoreNewOrdersAtOnce) {
  const auto store = open_orders_in_mariadb(with("statement_timeout_ms=1000"));
  put_vouchers_on_lanes(*store);
  {
    MariadbSession other(server_.socket(), database());
    other.execute("START TRANSACTION");
    other.execute("SELECT 1 FROM database_state FOR UPDATE");
    other.execute("SELECT 1 FROM lane_states WHERE lane = 1 FOR UPDATE");
    EXPECT_EQ(write_on_lane(*store, 2, 1), absl::OkStatus());
    EXPECT_TRUE(absl::IsUnavailable(write_on_lane(*store, 1, 1)));
    other.execute("ROLLBACK");
    other.execute("START TRANSACTION");
    other.execute("SELECT 1 FROM lane_states WHERE lane = 2 FOR UPDATE");
    EXPECT_TRUE(absl::IsUnavailable(store->archive()->archive_voucher(1, 0)));
  }
  for (const int lane : {1, 2}) EXPECT_EQ(write_on_lane(*store, lane, 2), absl::OkStatus());
}

TEST_F(MysqlFaultsTest, LostReplyToCommitLosesNothing) {
  testing::CuttingProxy proxy(server_.socket(), testing::CuttingProxy::Protocol::kMariadb);
  std::string url = url_;
  url.replace(url.find("socket="), std::string::npos,
              "socket=" + proxy.directory() + "/mariadb.sock");
  const auto store = open_orders_in_mariadb(url);
  const std::vector<Order> orders = orders_from(1, 20);
  proxy.cut_next_commit();
  const auto lost = write_orders(*store, orders);
  EXPECT_TRUE(absl::IsUnavailable(lost.status())) << lost.status();
  EXPECT_THAT(lost.status().ToString(), HasSubstr("may have been committed"));
  EXPECT_EQ(execute("SELECT count(*) FROM orders"), "20");
  const auto again = write_orders(*store, orders);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(count_kind(*again, OrderResult::Kind::kAlreadyStored), orders.size());
  EXPECT_EQ(store->count_live(1).value(), 20);
}

TEST_F(MysqlFaultsTest, ReadOnlyServerIsNamed) {
  const auto store = open_orders_in_mariadb(url_);
  expect_writes(*store, 1);
  execute("CREATE USER seller@localhost");
  execute("GRANT ALL ON " + database() + ".* TO seller@localhost");
  std::string url = url_;
  url.replace(url.find("root@"), 4, "seller");
  execute("SET GLOBAL read_only = 1");
  EXPECT_THAT(error_of(*open_orders_in_mariadb(url), 2), HasSubstr("read-only"));
  execute("SET GLOBAL read_only = 0");
  expect_writes(*store, 2);
}

TEST_F(MysqlFaultsTest, LongLockIsNamed) {
  const auto store = open_orders_in_mariadb(with("statement_timeout_ms=2000"));
  {
    MariadbSession other(server_.socket(), database());
    other.execute("START TRANSACTION");
    other.execute("SELECT 1 FROM database_state FOR UPDATE");
    EXPECT_THAT(error_of(*store, 1), HasSubstr("Lock wait timeout"));
  }
  expect_writes(*store, 1);
}

TEST_F(MysqlFaultsTest, HangingServerIsNamedInTime) {
  const auto store = open_orders_in_mariadb(with("statement_timeout_ms=1000"));
  expect_writes(*store, 1);
  server_.pause();
  EXPECT_THAT(error_of(*store, 2), HasSubstr("did not reply in time"));
  server_.resume();
  expect_writes(*store, 2);
}

TEST_F(MysqlFaultsTest, MissingConnectionsAreNamed) {
  const auto store = open_orders_in_mariadb(url_);
  expect_writes(*store, 1);
  std::vector<std::unique_ptr<MariadbSession>> others;
  do {
    others.push_back(std::make_unique<MariadbSession>(server_.socket(), database()));
  } while (others.back()->is_open());
  EXPECT_THAT(message_of(url_), HasSubstr("Too many connections"));
  expect_writes(*store, 2);  // by the connection that it has
}

TEST_F(MysqlFaultsTest, ClosedIdleConnectionIsReplaced) {
  const auto store = open_orders_in_mariadb(url_);
  expect_writes(*store, 1);
  // The newest one is in the pool: the one that created the tables was closed.
  execute("KILL CONNECTION " +
          execute("SELECT max(id) FROM information_schema.processlist WHERE db = '" + database() +
                  "' AND id <> connection_id()"));
  expect_writes(*store, 2);
}

TEST_F(MysqlFaultsTest, ChangedSchemaIsNamed) {
  const auto store = open_orders_in_mariadb(url_);
  execute("ALTER TABLE orders RENAME COLUMN reference TO remark");
  EXPECT_THAT(error_of(*store, 1), HasSubstr("'reference'"));
  execute("ALTER TABLE orders RENAME COLUMN remark TO reference");
  expect_writes(*store, 1);
}

// A DELETE with a subquery would read, and lock, every payment.
TEST_F(MysqlFaultsTest, ArchivingReadsOwnPaymentsAlone) {
  const auto store = open_orders_in_mariadb(url_);
  constexpr int kOthers = 2'000;
  constexpr int kOwn = 20;
  for (const VoucherId id : {1, 2}) {
    const Voucher voucher{.id = id, .stock = 10'000, .end_ms = 1'000};
    ASSERT_TRUE(store->vouchers()->record_pending({.voucher = voucher, .version = 1}).ok());
    ASSERT_TRUE(store->vouchers()->resolve(id, 1, VoucherVersion::State::kApplied, "").ok());
  }
  std::vector<OrderEvent> events;
  for (Order order : orders_from(1, kOthers + kOwn)) {
    if (order.id > kOthers) order.voucher = 2;
    events.push_back({.kind = OrderEvent::Kind::kAdmitted, .order = order});
    events.push_back({.kind = OrderEvent::Kind::kSurplusPayment,
                      .order = {.id = order.id},
                      .payment = {.id = "p" + std::to_string(order.id), .amount_cents = 5}});
    events.push_back({.kind = OrderEvent::Kind::kPaymentRefunded,
                      .payment = {.id = "p" + std::to_string(order.id)}});
  }
  const auto state = store->state().value();
  ASSERT_TRUE(
      store->payments()->apply(events, {.epoch = state.epoch, .session = state.session}).ok());
  ASSERT_TRUE(store->archive()->archive_voucher(2, 2'000).ok());
  const auto rows_read = [&] {
    return std::stoll(
        execute("SELECT variable_value FROM information_schema.global_status WHERE variable_name = "
                "'rows_read'"));
  };
  const std::int64_t before = rows_read();
  EXPECT_EQ(store->archive()->archive_orders(2, 1'000).value(), std::size_t{kOwn});
  EXPECT_EQ(store->archive()->delete_orders(2, 1'000).value(), std::size_t{kOwn});
  EXPECT_LT(rows_read() - before, kOthers / 2);
}

TEST_F(MysqlFaultsTest, ConstraintOfUsersIsFaultOfOrder) {
  const auto store = open_orders_in_mariadb(url_);
  execute("ALTER TABLE orders ADD CONSTRAINT mine CHECK (user_id <> 7)");
  const auto refused = write_orders(*store, orders_from(5, 5));
  EXPECT_TRUE(is_fault_of_an_order(refused.status())) << refused.status();
  EXPECT_EQ(store->list({})->size(), 0U);
  expect_writes(*store, 5);
}

TEST(MysqlSpaceTest, FullTablespaceIsNamed) {
  testing::MariadbServer server({.settings = {"--innodb-file-per-table=0",
                                              "--innodb-data-file-path=ibdata1:12M:autoextend:"
                                              "max:20M"}});
  const auto store = open_orders_in_mariadb(server.make_database());
  constexpr int kBatch = 2'000;
  OrderId next = 1;
  absl::Status error;
  for (; error.ok() && next < 1'000'000; next += kBatch) {
    error = write_orders(*store, orders_from(next, kBatch)).status();
  }
  EXPECT_TRUE(absl::IsUnavailable(error)) << error;
  EXPECT_THAT(error.ToString(), HasSubstr("is full"));
  EXPECT_EQ(store->count_live(1).value(), next - 1 - kBatch);
}

TEST(MysqlKillTest, KilledServerLosesNothing) {
  testing::MariadbServer server({.is_durable = true, .where = TemporaryDirectory::Where::kOnDisk});
  const std::string url = server.make_database();
  const std::int64_t stored = write_through_restarts([&] { return open_orders_in_mariadb(url); },
                                                     [&] { server.restart(); });
  EXPECT_GT(stored, 0);
}

TEST(MysqlStatusTest, OnlyConstraintsCountAgainstOrders) {
  using Code = absl::StatusCode;
  for (const auto& [number, code] :
       std::vector<std::pair<unsigned, Code>>{{1062, Code::kInvalidArgument},
                                              {4025, Code::kInvalidArgument},
                                              {1213, Code::kAborted},
                                              {1205, Code::kUnavailable},
                                              {1021, Code::kUnavailable},
                                              {1040, Code::kUnavailable},
                                              {2006, Code::kUnavailable},
                                              {2013, Code::kUnavailable},
                                              {1054, Code::kInternal},
                                              {1146, Code::kNotFound},
                                              {1050, Code::kAlreadyExists},
                                              {1194, Code::kDataLoss}}) {
    EXPECT_EQ(code_of_mysql_error(number), code) << number;
  }
}

}  // namespace
}  // namespace rushgate
