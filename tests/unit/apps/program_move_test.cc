// `rushgate move`: between a directory and a redis-server, and back.
#include <csignal>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/exit_code.h"
#include "tests/support/program.h"
#include "tests/support/redis_server/redis_server.h"

namespace rushgate {
namespace {

using ::testing::HasSubstr;

class MoveProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    files_.write_vouchers({10});
    files_.write_requests("0,1,1\n0,2,1\n0,3,1\n");
    ASSERT_EQ(run_program(files_.replay()).exit_code, kExitOk);
  }

  std::vector<std::string> move_there() { return files_.command("move", {"--to", server_.url()}); }
  std::vector<std::string> move_back() {
    return files_.command("move", {"--keyspace", server_.url(), "--to", own()});
  }
  ProgramResult buy(const std::string& user, bool is_there) {
    std::vector<std::string> words = {"1", user, "--patience", "0"};
    if (is_there) words.insert(words.end(), {"--keyspace", server_.url()});
    return run_program(files_.command("buy", words));
  }
  [[nodiscard]] std::string own() const { return (files_.sale() / "keyspace").string(); }
  void expect_audit_passes(const std::vector<std::string>& words) {
    const auto audit = run_program(files_.command("audit", words));
    EXPECT_EQ(audit.exit_code, kExitOk) << audit.out << audit.err;
  }

  const testing::RedisServer server_{{.append_only = true}};
  SaleFiles files_;
};

TEST_F(MoveProgramTest, SaleGoesToRedisAndBack) {
  const auto moved = run_program(move_there());
  ASSERT_EQ(moved.exit_code, kExitOk) << moved.err;
  EXPECT_THAT(moved.out, HasSubstr("nothing was sold for "));
  EXPECT_THAT(buy("4", /*is_there=*/false).err,
              HasSubstr("the sale was moved to " + server_.url()));
  EXPECT_EQ(buy("4", /*is_there=*/true).exit_code, kExitOk);
  EXPECT_EQ(run_program(move_there()).out, "the sale was moved before\n");

  const auto returned = run_program(move_back());
  ASSERT_EQ(returned.exit_code, kExitOk) << returned.err;
  EXPECT_EQ(buy("5", /*is_there=*/false).exit_code, kExitOk);
  EXPECT_NE(buy("6", /*is_there=*/true).exit_code, kExitOk);
  expect_audit_passes({});
  EXPECT_EQ(run_program(files_.command("orders", {"--json"})).json().size(), 5u);

  ASSERT_EQ(run_program(move_there()).exit_code, kExitOk) << "it may go there once more";
  EXPECT_EQ(buy("6", /*is_there=*/true).exit_code, kExitOk);
  expect_audit_passes({"--keyspace", server_.url()});
}

TEST_F(MoveProgramTest, MoveKilledAtEachStepIsRepeated) {
  for (const std::string step :
       {"reserving the new keyspace", "closing the admission", "storing the queued orders",
        "copying dead letters", "rebuilding the vouchers", "opening the sale"}) {
    SCOPED_TRACE(step);
    {
      Program killed(move_there());
      killed.wait_for_error_text(step);  // it may end before the signal
      killed.send(SIGKILL);
      killed.wait();
    }
    const auto moved = run_program(move_there());
    ASSERT_EQ(moved.exit_code, kExitOk) << moved.err;
    expect_audit_passes({"--keyspace", server_.url()});
    const auto returned = run_program(move_back());
    ASSERT_EQ(returned.exit_code, kExitOk) << returned.err;
  }
  EXPECT_EQ(buy("4", /*is_there=*/false).exit_code, kExitOk);
  expect_audit_passes({});
}

TEST_F(MoveProgramTest, WrongTargetIsRefused) {
  const auto to_memory = run_program(files_.command("move", {"--to", "memory:"}));
  EXPECT_EQ(to_memory.exit_code, kExitUsage);
  EXPECT_THAT(to_memory.err, HasSubstr("in the memory of a process"));
  ASSERT_EQ(run_program(move_there()).exit_code, kExitOk);
  const testing::RedisServer other;
  const auto elsewhere = run_program(files_.command("move", {"--to", other.url()}));
  EXPECT_EQ(elsewhere.exit_code, kExitFailure);
  EXPECT_THAT(elsewhere.err, HasSubstr("the sale was moved to " + server_.url()));
}

}  // namespace
}  // namespace rushgate
