// Several processes with a keyspace on a redis-server and orders on a PostgreSQL: nothing is in a
// directory.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/exit_code.h"
#include "tests/support/database_server/postgresql_server.h"
#include "tests/support/program.h"
#include "tests/support/random.h"
#include "tests/support/redis_server/redis_server.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

using ::testing::HasSubstr;

class DatabaseProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    files_.write_vouchers({300, 100});
    std::string requests;
    for (int i = 0; i < 2'000; ++i) {
      const std::string ms = std::to_string(i);
      requests += ms + "," + std::to_string(i % 700) + "," + std::to_string(1 + i % 2) + "\n";
    }
    files_.write_requests(requests);
  }

  /// Returns `<name> --keyspace … --orders …`, followed by `more`.
  [[nodiscard]] std::vector<std::string> command(std::vector<std::string> words,
                                                 const std::vector<std::string>& more = {}) const {
    words.insert(words.end(), {"--keyspace", redis_.url(), "--orders", orders_});
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  [[nodiscard]] std::vector<std::string> replay() const {
    return command({"replay", files_.requests(), "--vouchers", files_.vouchers(), "--json"});
  }

  testing::RedisServer redis_;
  const std::string orders_ = testing::PostgresqlServer::of_program().make_database();
  SaleFiles files_;
};

TEST_F(DatabaseProgramTest, ProcessesShareSaleWithoutDirectory) {
  // The first process creates the tables, and publishes.
  files_.write_requests("0,1000,1\n");
  ASSERT_EQ(run_program(replay()).exit_code, kExitOk);
  SetUp();
  Program worker(command({"work"}));
  ASSERT_TRUE(worker.wait_for_error_text("storing orders"));
  const auto sold = run_program(replay());
  ASSERT_EQ(sold.exit_code, kExitOk) << sold.err;
  worker.send(SIGTERM);
  EXPECT_EQ(worker.wait().exit_code, kExitOk);

  const auto audit = run_program(command({"audit", "--json"}));
  EXPECT_EQ(audit.exit_code, kExitOk) << audit.out << audit.err;
  EXPECT_EQ(run_program(command({"orders", "--json"})).json().size(), 400u);
  EXPECT_EQ(testing::PostgresqlServer::of_program().execute(orders_, "SELECT count(*) FROM orders"),
            "400");
  const std::string first = run_program(command({"orders", "--json"})).json()[0]["order"];
  EXPECT_THAT(run_program(command({"status", first})).out, HasSubstr("created"));
  EXPECT_FALSE(std::filesystem::exists(files_.sale()));
}

TEST_F(DatabaseProgramTest, KeyspaceInDirectoryHasOrdersElsewhere) {
  const auto sold = run_program(files_.replay({"--orders", orders_, "--json"}));
  ASSERT_EQ(sold.exit_code, kExitOk) << sold.err;
  EXPECT_EQ(run_program(files_.command("audit", {"--orders", orders_})).exit_code, kExitOk);
  EXPECT_TRUE(std::filesystem::exists(files_.sale() / "keyspace"));
  EXPECT_FALSE(std::filesystem::exists(files_.sale() / "orders.db"));
}

class CopyProgramTest : public DatabaseProgramTest {
 protected:
  /// Sells with orders in a directory.
  void sell_in_directory() const {
    const auto sold =
        run_program({"replay", files_.requests(), "--vouchers", files_.vouchers(), "--json",
                     "--keyspace", redis_.url(), "--dir", files_.sale().string()});
    ASSERT_EQ(sold.exit_code, kExitOk) << sold.err;
  }
  [[nodiscard]] std::vector<std::string> copy(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {
        "orders", "copy", "sqlite:" + (files_.sale() / "orders.db").string(), orders_, "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  void expect_sells_on_server(int orders) const {
    const auto audit = run_program(command({"audit"}));
    EXPECT_EQ(audit.exit_code, kExitOk) << audit.out << audit.err;
    EXPECT_EQ(run_program(command({"orders", "--json"})).json().size(),
              static_cast<std::size_t>(orders));
  }
};

TEST_F(CopyProgramTest, CopiedSaleContinuesOnServer) {
  files_.write_requests("0,1000,1\n1,1001,2\n");
  sell_in_directory();
  const auto copied = run_program(copy());
  ASSERT_EQ(copied.exit_code, kExitOk) << copied.err;
  EXPECT_EQ(copied.json()["orders"], 2);
  EXPECT_EQ(copied.json()["written"], 2);
  expect_sells_on_server(2);
  const auto old =
      run_program({"audit", "--keyspace", redis_.url(), "--dir", files_.sale().string()});
  EXPECT_NE(old.exit_code, kExitOk);
  EXPECT_THAT(old.err, HasSubstr("moved to another database"));
  SetUp();
  ASSERT_EQ(run_program(replay()).exit_code, kExitOk);
  expect_sells_on_server(400);
  EXPECT_EQ(run_program(copy()).json()["was_complete"], true);
}

TEST_F(CopyProgramTest, KilledCopyIsCompletedByNextRun) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  testing::Random random(seed);
  sell_in_directory();
  const auto slow_copy = copy({"--portion", "2"});
  for (int i = 0; i < 6; ++i) {
    Program program(slow_copy);
    std::this_thread::sleep_for(std::chrono::milliseconds(random.below(400)));
    program.send(SIGKILL);
    if (program.wait().signal != SIGKILL) break;
  }
  const auto copied = run_program(copy());
  ASSERT_EQ(copied.exit_code, kExitOk) << copied.err;
  expect_sells_on_server(400);
}

TEST_F(DatabaseProgramTest, WrongPlaceOfOrdersIsNamed) {
  const auto unknown = run_program(files_.command("orders", {"--orders", "oracle://db"}));
  EXPECT_THAT(unknown.err, HasSubstr("\"oracle\" is none of sqlite:"));
  const auto missing = run_program(command({"audit"}));
  EXPECT_THAT(missing.err, HasSubstr("there are no orders"));
  const auto twice = run_program(command({"audit"}, {"--dir", files_.sale().string()}));
  EXPECT_THAT(twice.err, HasSubstr("nothing is in it"));
  const auto nowhere = run_program({"audit", "--orders", orders_});
  EXPECT_THAT(nowhere.err, HasSubstr("--dir is required"));
}

}  // namespace
}  // namespace rushgate
