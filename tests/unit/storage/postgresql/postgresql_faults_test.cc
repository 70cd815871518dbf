// What goes wrong with a database server while orders are written: nothing is lost, nothing is doubled, and
// the error says what is wrong.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/database_server/cutting_proxy.h"
#include "tests/support/database_server/small_disk.h"
#include "tests/unit/storage/postgresql/postgresql_fixture.h"
#include <rushgate/archive_store.h>

namespace rushgate {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing::PostgresqlSession;
using Kind = OrderResult::Kind;

class PostgresqlFaultsTest : public PostgresqlTest {
 protected:
  /// Waits until another session waits for a lock.
  void wait_for_lock_wait() {
    while (execute("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") == "0") {
    }
  }
};

TEST_F(PostgresqlFaultsTest, LostReplyToCommitLosesNothing) {
  testing::CuttingProxy proxy(server_.socket_directory() / ".s.PGSQL.5432",
                              testing::CuttingProxy::Protocol::kPostgresql);
  std::string url = url_;
  url.replace(url.find("host="), std::string::npos, "host=" + proxy.directory());
  const auto store = open_orders_at(url);
  const std::vector<Order> orders = orders_from(1, 20);
  proxy.cut_next_commit();
  const auto lost = write_orders(*store, orders);
  EXPECT_TRUE(absl::IsUnavailable(lost.status())) << lost.status();
  EXPECT_THAT(lost.status().ToString(), HasSubstr("may have been committed"));
  const auto again = write_orders(*store, orders);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(count_kind(*again, Kind::kAlreadyStored), orders.size());
  EXPECT_EQ(store->count_live(1).value(), 20);
}

TEST_F(PostgresqlFaultsTest, LostReplyToVoucherLeavesPendingVersion) {
  testing::CuttingProxy proxy(server_.socket_directory() / ".s.PGSQL.5432",
                              testing::CuttingProxy::Protocol::kPostgresql);
  std::string url = url_;
  url.replace(url.find("host="), std::string::npos, "host=" + proxy.directory());
  const auto store = open_orders_at(url);
  proxy.cut_next_commit();
  EXPECT_TRUE(absl::IsUnavailable(
      store->vouchers()->record_pending({.voucher = {.id = 1, .stock = 5}, .version = 1})));
  EXPECT_EQ(store->vouchers()->pending()->size(), 1U);
}

TEST_F(PostgresqlFaultsTest, ClosedIdleConnectionIsReplaced) {
  const auto store = open_orders_at(url_);
  expect_writes(*store, 1);
  execute(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = "
      "'rushgate'");
  expect_writes(*store, 2);
}

TEST_F(PostgresqlFaultsTest, DeadlockIsRunAgain) {
  const auto store = open_orders_at(url_);
  expect_writes(*store, 1);
  for (OrderId id = 2; id < 5; ++id) {
    PostgresqlSession other(url_);
    other.execute(
        "BEGIN; SET LOCAL deadlock_timeout = '10s'; "
        "SELECT live FROM live_orders WHERE voucher_id = 1 FOR UPDATE");
    std::thread writer([&] { expect_writes(*store, id); });
    wait_for_lock_wait();
    other.send("UPDATE database_state SET checkpoint = checkpoint; COMMIT");
    other.wait();
    writer.join();
  }
  EXPECT_EQ(store->count_live(1).value(), 4);
}

// Transactions are READ COMMITTED, whatever the database's default is: those of a second program, which would
// fail serializable ones, fail none.
TEST_F(PostgresqlFaultsTest, SerializableDefaultFailsNothing) {
  const auto number = [&](const std::string& query) { return std::stoi(execute(query)); };
  const std::string rollbacks =
      "SELECT xact_rollback FROM pg_stat_database WHERE datname = current_database()";
  auto store = open_orders_at(with("options=-cdefault_transaction_isolation%3Dserializable"));
  expect_writes(*store, 1);
  const int before = number(rollbacks);
  for (OrderId id = 2; id < 5; ++id) {
    PostgresqlSession other(url_);
    other.execute("BEGIN; UPDATE database_state SET checkpoint = checkpoint");
    std::thread writer([&] { expect_writes(*store, id); });
    wait_for_lock_wait();
    other.execute("COMMIT");
    writer.join();
  }
  EXPECT_EQ(store->count_live(1).value(), 4);
  store.reset();  // a session counts its transactions by its end at the latest
  while (number("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'rushgate' AND "
                "datname = current_database()") > 0) {
  }
  EXPECT_EQ(number(rollbacks), before);
}

TEST_F(PostgresqlFaultsTest, LongLockIsNamed) {
  const auto store = open_orders_at(with("statement_timeout_ms=400"));
  {
    PostgresqlSession other(url_);
    other.execute("BEGIN; SELECT 1 FROM database_state FOR UPDATE");
    EXPECT_THAT(error_of(*store, 1),
                AnyOf(HasSubstr("lock timeout"), HasSubstr("statement timeout"),
                      HasSubstr("did not reply in time")));
  }
  expect_writes(*store, 1);
}

// New orders of a lane need the row of their lane alone. Archiving needs all lanes.
TEST_F(PostgresqlFaultsTest, LanesStoreNewOrdersAtOnce) {
  const auto store = open_orders_at(with("statement_timeout_ms=400"));
  put_vouchers_on_lanes(*store);
  {
    PostgresqlSession other(url_);
    other.execute("BEGIN");
    other.execute("SELECT 1 FROM database_state FOR UPDATE");
    other.execute("SELECT 1 FROM lane_states WHERE lane = 1 FOR UPDATE");
    EXPECT_EQ(write_on_lane(*store, 2, 1), absl::OkStatus());
    EXPECT_TRUE(absl::IsUnavailable(write_on_lane(*store, 1, 1)));
    other.execute("ROLLBACK");
    other.execute("BEGIN");
    other.execute("SELECT 1 FROM lane_states WHERE lane = 2 FOR UPDATE");
    EXPECT_TRUE(absl::IsUnavailable(store->archive()->archive_voucher(1, 0)));
  }
  for (const int lane : {1, 2}) EXPECT_EQ(write_on_lane(*store, lane, 2), absl::OkStatus());
}

TEST_F(PostgresqlFaultsTest, StoppedWriterIsPutOutOfOthersWay) {
  const auto store = open_orders_at(with("statement_timeout_ms=4000"));
  expect_writes(*store, 1);
  PostgresqlSession stopped(url_);
  stopped.execute(
      "BEGIN; SET LOCAL idle_in_transaction_session_timeout = 100; "
      "SELECT 1 FROM database_state FOR UPDATE");
  expect_writes(*store, 2);
}

TEST_F(PostgresqlFaultsTest, HangingServerIsNamedInTime) {
  const auto store = open_orders_at(with("statement_timeout_ms=300"));
  expect_writes(*store, 1);
  server_.pause();
  EXPECT_THAT(error_of(*store, 2), HasSubstr("did not reply in time"));
  server_.resume();
  expect_writes(*store, 2);
}

TEST_F(PostgresqlFaultsTest, MissingConnectionsAreNamed) {
  const auto store = open_orders_at(url_);
  expect_writes(*store, 1);
  std::vector<std::unique_ptr<PostgresqlSession>> others;
  do {
    others.push_back(std::make_unique<PostgresqlSession>(url_));
  } while (others.back()->is_open());
  const auto another = open_postgresql_order_store(url_);
  EXPECT_THAT(another.status().ToString(), HasSubstr("too many clients"));
  EXPECT_TRUE(absl::IsUnavailable(another.status()));
  expect_writes(*store, 2);  // by the connection that it has
  others.clear();
}

TEST_F(PostgresqlFaultsTest, ChangedSchemaIsNamed) {
  const auto store = open_orders_at(url_);
  execute("ALTER TABLE orders RENAME COLUMN reference TO remark");
  EXPECT_THAT(error_of(*store, 1), HasSubstr("\"reference\""));
  execute("ALTER TABLE orders RENAME COLUMN remark TO reference");
  expect_writes(*store, 1);
  execute("ALTER TABLE orders RENAME TO old_orders");
  EXPECT_THAT(error_of(*store, 2), HasSubstr("somebody changed the schema"));
}

TEST_F(PostgresqlFaultsTest, ConstraintOfUsersIsFaultOfOrder) {
  const auto store = open_orders_at(url_);
  execute("ALTER TABLE orders ADD CONSTRAINT mine CHECK (user_id <> 7)");
  const auto refused = write_orders(*store, orders_from(5, 5));
  EXPECT_TRUE(is_fault_of_an_order(refused.status())) << refused.status();
  EXPECT_EQ(store->list({})->size(), 0U);
  expect_writes(*store, 5);
}

TEST_F(PostgresqlFaultsTest, ReadOnlyServerIsNamed) {
  const auto store = open_orders_at(url_);
  expect_writes(*store, 1);
  execute("ALTER DATABASE " + execute("SELECT current_database()") +
          " SET default_transaction_read_only = on");
  const auto late = open_orders_at(url_);
  EXPECT_THAT(error_of(*late, 2), HasSubstr("read-only transaction"));
}

TEST_F(PostgresqlFaultsTest, FullDiskIsNamed) {
  const testing::SmallDisk disk("4m");
  if (!disk.is_there()) GTEST_SKIP() << "mounts are forbidden here";
  constexpr int kBatch = 2'000;
  testing::PostgresqlServer server({.settings = {"wal_level=minimal", "max_wal_senders=0"}});
  const std::string url = server.make_database();
  const auto store = open_orders_at(url);
  server.execute(url, "CREATE TABLESPACE small LOCATION '" + disk.make_directory().string() + "'");
  server.execute(url, "ALTER TABLE orders SET TABLESPACE small");
  OrderId next = 1;
  absl::Status error;
  for (; error.ok() && next < 1'000'000; next += kBatch) {
    error = write_orders(*store, orders_from(next, kBatch)).status();
  }
  EXPECT_TRUE(absl::IsUnavailable(error)) << error;
  EXPECT_THAT(error.ToString(), HasSubstr("No space left on device"));
  const std::int64_t stored = next - 1 - kBatch;
  EXPECT_EQ(store->count_live(1).value(), stored);
  server.execute(url, "ALTER TABLE orders SET TABLESPACE pg_default");
  expect_writes(*store, next);
  EXPECT_EQ(store->count_live(1).value(), stored + 1);
}

TEST(PostgresqlKillTest, KilledServerLosesNothing) {
  testing::PostgresqlServer server(
      {.is_durable = true, .where = TemporaryDirectory::Where::kOnDisk});
  const std::string url = server.make_database();
  const std::int64_t stored =
      write_through_restarts([&] { return open_orders_at(url); }, [&] { server.restart(); });
  EXPECT_EQ(server.execute(url, "SELECT count(*) FROM orders"), std::to_string(stored));
}

}  // namespace
}  // namespace rushgate
