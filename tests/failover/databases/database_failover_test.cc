// What happens to a sale at full rate while its order database fails over to a standby that lagged, hangs, or is
// changed by somebody. Nothing is lost, nothing is stored twice, and the sale goes on selling.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "tests/failover/databases/database_rush.h"
#include "tests/support/database_server/mariadb_server.h"
#include "tests/support/database_server/pgbouncer.h"
#include "tests/support/database_server/postgresql_server.h"
#include "tests/support/redis_server/redis_server.h"
#include "tests/support/sweep.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/open_order_store.h>

namespace rushgate {
namespace {

using testing::MariadbServer;
using testing::Pgbouncer;
using testing::PostgresqlServer;

/// A database with a standby that takes over in the middle of a rush.
struct Takeover {
  std::string orders;                           // the URL
  std::function<void()> cut_off;                // the standby receives nothing any more
  std::function<std::int64_t()> count_missing;  // orders that the standby does not have
  std::function<void()> fail_over;
};

void expect_caught_up(const Takeover& takeover) {
  DatabaseRush rush(takeover.orders);
  rush.wait_for_stored();
  takeover.cut_off();
  rush.wait_for_stored();  // these are lost by the database
  rush.wait_for_stored();
  EXPECT_GT(takeover.count_missing(), 0);
  takeover.fail_over();
  rush.wait_for_sold(100);
  rush.wait_for_stored();
  rush.finish();
}

class PostgresqlFailoverTest : public ::testing::Test {
 protected:
  PostgresqlFailoverTest() {
    primary_.execute(primary_.url("postgres"), "CREATE DATABASE sale");
    standby_ = PostgresqlServer::make_standby(primary_);
  }
  void cut_off() {
    standby_->wait_until_current(primary_);
    standby_->cut_off();
  }

  std::int64_t count_missing() {
    const auto count = [](PostgresqlServer& server) {
      return std::stoll(server.execute(server.url("sale"), "SELECT count(*) FROM orders"));
    };
    return count(primary_) - count(*standby_);
  }

  PostgresqlServer primary_;
  std::unique_ptr<PostgresqlServer> standby_;
};

// The primary still accepts connections, and does not reply.
TEST_F(PostgresqlFailoverTest, LaggingStandbyOfSeveralHostsIsCaughtUp) {
  const std::string hosts =
      primary_.socket_directory().string() + "," + standby_->socket_directory().string();
  expect_caught_up({.orders = "postgresql://rushgate@/sale?host=" + hosts +
                              "&target_session_attrs=read-write&connect_timeout=1"
                              "&statement_timeout_ms=1000",
                    .cut_off = [this] { cut_off(); },
                    .count_missing = [this] { return count_missing(); },
                    .fail_over =
                        [this] {
                          primary_.pause();
                          standby_->promote();
                        }});
}

TEST_F(PostgresqlFailoverTest, LaggingStandbyBehindPgbouncerIsCaughtUp) {
  Pgbouncer pgbouncer(primary_);
  expect_caught_up({.orders = pgbouncer.url("sale") + "&statement_timeout_ms=2000",
                    .cut_off = [this] { cut_off(); },
                    .count_missing = [this] { return count_missing(); },
                    .fail_over =
                        [&] {
                          pgbouncer.hold();  // so no connection is lost
                          primary_.kill();
                          standby_->promote();
                          pgbouncer.lead_to(*standby_);
                        }});
}

TEST(PgbouncerTest, ProcessesShareConnectionsOfTransactionMode) {
  PostgresqlServer& server = PostgresqlServer::of_program();
  const std::string url = server.make_database();
  const std::string name = testing::database_in(url);
  const Pgbouncer pgbouncer(server);
  // Others, which would meet a statement, a setting or a lock that a session kept.
  const auto other = open_order_store(pgbouncer.url(name)).value();
  DatabaseRush rush(pgbouncer.url(name));
  for (int i = 0; i < 50; ++i) {
    rush.wait_for_sold(1);
    ASSERT_TRUE(other->state().ok()) << other->state().status();
    ASSERT_TRUE(other->reserve_ids(19'000, 0, 1).ok());
    ASSERT_TRUE(open_order_store(pgbouncer.url(name)).ok());
  }
  rush.finish();
  EXPECT_EQ(server.execute(url, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), "0");
}

TEST(MariadbFailoverTest, LaggingReplicaIsCaughtUp) {
  MariadbServer primary({.port = testing::find_free_port()});
  MariadbServer replica;
  primary.execute("", "CREATE DATABASE sale");
  replica.replicate(primary);
  const TemporaryDirectory directory(TemporaryDirectory::Where::kInTmp);
  const std::filesystem::path current = directory.path() / "current.sock";
  std::filesystem::create_symlink(primary.socket(), current);
  const auto count = [](MariadbServer& server) {
    return std::stoll(server.execute("sale", "SELECT count(*) FROM orders"));
  };
  expect_caught_up({.orders = "mysql://root@/sale?socket=" + current.string(),
                    .cut_off =
                        [&] {
                          replica.wait_until_current(primary);
                          replica.cut_off();
                        },
                    .count_missing = [&] { return count(primary) - count(replica); },
                    .fail_over =
                        [&] {
                          primary.kill();
                          replica.promote();
                          std::filesystem::remove(current);
                          std::filesystem::create_symlink(replica.socket(), current);
                        }});
}

// ---- A server that is killed ------------------------------------------------------------------

template <class Server>
void expect_sales_through_kills(Server& server) {
  DatabaseRush rush(server.make_database());
  const int kills = testing::is_full_run() ? 50 : 1;
  for (int i = 0; i < kills; ++i) {
    rush.wait_for_stored();
    server.restart();
    rush.wait_for_sold(10);
  }
  rush.wait_for_stored();
  rush.finish();
}

TEST(KilledDatabaseTest, PostgresqlIsKilledAndSaleGoesOn) {
  PostgresqlServer& server = PostgresqlServer::of_program();
  // Otherwise it takes longer and longer to recover from a log of up to 1 GB.
  server.execute(server.url("postgres"), "ALTER SYSTEM SET max_wal_size = '64MB'");
  expect_sales_through_kills(server);
}

TEST(KilledDatabaseTest, MariadbIsKilledAndSaleGoesOn) {
  expect_sales_through_kills(MariadbServer::of_program());
}

// ---- A server that hangs, and a changed schema ------------------------------------------------

/// How long a server hangs: in `./dev test full` as long as an operator needs to notice it.
void let_hang() {
  std::this_thread::sleep_for(std::chrono::seconds(testing::is_full_run() ? 30 : 0));
}

template <class Server>
void expect_sales_while_hanging(Server& server, const std::string& url) {
  // In a full run the audit reads more orders than in a second.
  DatabaseRush rush(url + (testing::is_full_run() ? "" : "&statement_timeout_ms=1000"));
  rush.wait_for_stored();
  server.pause();
  rush.expect_paused_for("did not reply in time");
  let_hang();
  rush.wait_for_sold(100);
  server.resume();
  rush.wait_for_stored();
  rush.finish();
}

TEST(HangingDatabaseTest, PostgresqlHangsAndSaleGoesOn) {
  PostgresqlServer& server = PostgresqlServer::of_program();
  expect_sales_while_hanging(server, server.make_database());
}

TEST(HangingDatabaseTest, MariadbHangsAndSaleGoesOn) {
  MariadbServer& server = MariadbServer::of_program();
  expect_sales_while_hanging(server, server.make_database());
}

/// Renames a column of the orders during a rush, and back.
void expect_sales_with_changed_schema(const std::string& url,
                                      const std::function<void(const std::string& sql)>& execute) {
  DatabaseRush rush(url);
  rush.wait_for_stored();
  execute("ALTER TABLE orders RENAME COLUMN reference TO remark");
  rush.expect_paused_for("reference");
  execute("ALTER TABLE orders RENAME COLUMN remark TO reference");
  rush.wait_for_stored();
  rush.finish();
}

TEST(ChangedSchemaTest, PostgresqlIsChangedAndSaleGoesOn) {
  PostgresqlServer& server = PostgresqlServer::of_program();
  const std::string url = server.make_database();
  expect_sales_with_changed_schema(url, [&](const std::string& sql) { server.execute(url, sql); });
}

TEST(ChangedSchemaTest, MariadbIsChangedAndSaleGoesOn) {
  MariadbServer& server = MariadbServer::of_program();
  const std::string url = server.make_database();
  const std::string name = testing::database_in(url);
  expect_sales_with_changed_schema(url, [&](const std::string& sql) { server.execute(name, sql); });
}

}  // namespace
}  // namespace rushgate
