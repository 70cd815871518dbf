// What happens to a sale at full rate while replies of its order database are lost, and while other programs hold
// its locks, its connections and its disk. Nothing is lost, nothing is stored twice, the pause reason says what is
// wrong, and the sale goes on selling.
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/failover/databases/database_rush.h"
#include "tests/support/database_server/cutting_proxy.h"
#include "tests/support/database_server/mariadb_server.h"
#include "tests/support/database_server/postgresql_server.h"
#include "tests/support/database_server/small_disk.h"
#include "tests/support/sweep.h"
#include <rushgate/open_order_store.h>

namespace rushgate {
namespace {

using testing::CuttingProxy;
using testing::MariadbServer;
using testing::MariadbSession;
using testing::PostgresqlServer;
using testing::PostgresqlSession;
using testing::SmallDisk;

int repetitions() { return testing::is_full_run() ? 50 : 2; }

class PostgresqlRushTest : public ::testing::Test {
 protected:
  PostgresqlServer& server_ = PostgresqlServer::of_program();
  const std::string url_ = server_.make_database();
};

class MariadbRushTest : public ::testing::Test {
 protected:
  MariadbServer& server_ = MariadbServer::of_program();
  const std::string url_ = server_.make_database();
  const std::string name_ = testing::database_in(url_);
};

// ---- The reply to a commit --------------------------------------------------------------------

void expect_sales_through_cuts(CuttingProxy& proxy, const std::string& url) {
  DatabaseRush rush(url);
  for (int i = 0; i < repetitions(); ++i) {
    rush.wait_for_stored();
    proxy.cut_next_commit();
    DatabaseRush::wait_until([&] { return proxy.has_met_commit(); }, "no commit was cut");
  }
  rush.wait_for_stored();
  rush.finish();
}

TEST_F(PostgresqlRushTest, LostRepliesToCommitsLoseNothing) {
  CuttingProxy proxy(server_.socket_directory() / ".s.PGSQL.5432",
                     CuttingProxy::Protocol::kPostgresql);
  std::string url = url_;
  url.replace(url.find("host="), std::string::npos, "host=" + proxy.directory());
  expect_sales_through_cuts(proxy, url);
}

TEST_F(MariadbRushTest, LostRepliesToCommitsLoseNothing) {
  CuttingProxy proxy(server_.socket(), CuttingProxy::Protocol::kMariadb);
  std::string url = url_;
  url.replace(url.find("socket="), std::string::npos,
              "socket=" + proxy.directory() + "/mariadb.sock");
  expect_sales_through_cuts(proxy, url);
}

// ---- Locks of a second program ----------------------------------------------------------------

/// Lets a second program take the locks of a batch in the other order until it has met enough deadlocks.
void expect_sales_through_deadlocks(const std::string& url,
                                    const std::function<void()>& lock_and_unlock,
                                    const std::function<int()>& count_deadlocks) {
  DatabaseRush rush(url);
  rush.wait_for_stored();
  const int before = count_deadlocks();
  for (int i = 1; i <= repetitions(); ++i) {
    DatabaseRush::wait_until(
        [&] {
          lock_and_unlock();
          return count_deadlocks() >= before + i;
        },
        "there is no deadlock");
  }
  rush.wait_for_stored();
  rush.finish();
}

TEST_F(PostgresqlRushTest, DeadlocksLoseNothing) {
  PostgresqlSession other(url_);
  other.execute("SET deadlock_timeout = '10s'");  // so a worker's transaction is ended
  expect_sales_through_deadlocks(
      url_,
      [&] {
        other.execute(
            "BEGIN; SELECT live FROM live_orders WHERE voucher_id = 1 FOR UPDATE; "
            "UPDATE database_state SET checkpoint = checkpoint; COMMIT");
      },
      [&] {
        return std::stoi(
            other.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = "
                          "current_database()"));
      });
}

TEST_F(MariadbRushTest, DeadlocksLoseNothing) {
  MariadbSession other(server_.socket(), name_);
  expect_sales_through_deadlocks(
      url_,
      [&] {
        other.execute("START TRANSACTION");
        other.execute("SELECT live FROM live_orders WHERE voucher_id = 1 FOR UPDATE");
        // The transaction that has changed fewer rows is ended: mostly the worker's.
        other.execute("INSERT INTO reserved_ids SELECT seq, 1 FROM seq_1000001_to_1001000");
        try {
          other.execute("SELECT 1 FROM database_state FOR UPDATE");
        } catch (const std::runtime_error&) {
        }
        other.execute("ROLLBACK");
      },
      [&] {
        return std::stoi(
            other.execute("SELECT variable_value FROM information_schema.global_status WHERE "
                          "variable_name = 'innodb_deadlocks'"));
      });
}

void expect_sales_beside_locks(const std::string& url, const std::string& reason,
                               const std::function<void()>& lock,
                               const std::function<void()>& unlock) {
  DatabaseRush rush(url);
  for (int i = 0; i < repetitions(); ++i) {
    rush.wait_for_stored();
    lock();
    rush.expect_paused_for(reason);
    unlock();
  }
  rush.wait_for_stored();
  rush.finish();
}

TEST_F(PostgresqlRushTest, LocksOfOthersAreNamed) {
  PostgresqlSession other(url_);
  expect_sales_beside_locks(
      url_ + "&statement_timeout_ms=400", "lock timeout",
      [&] { other.execute("BEGIN; SELECT 1 FROM database_state FOR UPDATE"); },
      [&] { other.execute("ROLLBACK"); });
}

TEST_F(MariadbRushTest, LocksOfOthersAreNamed) {
  MariadbSession other(server_.socket(), name_);
  expect_sales_beside_locks(
      url_ + "&statement_timeout_ms=2000", "Lock wait timeout",
      [&] {
        other.execute("START TRANSACTION");
        other.execute("SELECT 1 FROM database_state FOR UPDATE");
      },
      [&] { other.execute("ROLLBACK"); });
}

// ---- No connection ----------------------------------------------------------------------------

/// Lets other programs take all connections of a server, also those that the sale had.
template <class Session>
void expect_sales_without_connections(const std::string& url, const std::string& reason,
                                      const std::function<std::unique_ptr<Session>()>& connect,
                                      const std::function<void(Session& by)>& end_those_of_sale) {
  const std::unique_ptr<Session> killer = connect();
  DatabaseRush rush(url);
  rush.wait_for_stored();
  {
    std::vector<std::unique_ptr<Session>> others;
    const auto is_named = [&] {
      end_those_of_sale(*killer);
      do {
        others.push_back(connect());
      } while (others.back()->is_open());
      others.pop_back();
      return rush.pause_reason().find(reason) != std::string::npos;
    };
    DatabaseRush::wait_until(is_named, "not paused for " + reason);
    rush.wait_for_sold(100);
  }
  rush.wait_for_stored();
  rush.finish();
}

TEST_F(PostgresqlRushTest, MissingConnectionsAreNamed) {
  expect_sales_without_connections<PostgresqlSession>(
      url_, "too many clients", [&] { return std::make_unique<PostgresqlSession>(url_); },
      [](PostgresqlSession& by) {
        by.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE "
            "application_name = 'rushgate'");
      });
}

TEST_F(MariadbRushTest, MissingConnectionsAreNamed) {
  constexpr int kConnectionsOfSale = 4;
  expect_sales_without_connections<MariadbSession>(
      url_, "Too many connections",
      [&] { return std::make_unique<MariadbSession>(server_.socket(), ""); },
      [&](MariadbSession& by) {
        for (int i = 0; i < kConnectionsOfSale; ++i) {
          const std::string one = by.execute(
              "SELECT max(id) FROM information_schema.processlist WHERE db = '" + name_ + "'");
          try {
            if (!one.empty()) by.execute("KILL CONNECTION " + one);
          } catch (const std::runtime_error&) {  // it has ended meanwhile
          }
        }
      });
}

// ---- A full disk ------------------------------------------------------------------------------

TEST(FullDiskRushTest, PostgresqlGetsSpaceAndSaleGoesOn) {
  SmallDisk disk(testing::is_full_run() ? "16m" : "512k");
  if (!disk.is_there()) GTEST_SKIP() << "mounts are forbidden here";
  PostgresqlServer server;
  const std::string url = server.make_database();
  ASSERT_TRUE(open_order_store(url).ok());  // makes the tables
  server.execute(url, "CREATE TABLESPACE small LOCATION '" + disk.make_directory().string() + "'");
  server.execute(url, "ALTER TABLE orders SET TABLESPACE small");
  DatabaseRush rush(url);
  rush.expect_paused_for("No space left on device");
  disk.resize("1g");
  rush.wait_for_stored();
  rush.finish();
}

}  // namespace
}  // namespace rushgate
