// The sale on the Redis port of `rushgate serve --http`: docs/sale-commands.md, run by redis-cli.
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/exit_code.h"
#include "tests/support/command_output.h"
#include "tests/support/patterns.h"
#include "tests/support/program.h"

namespace rushgate {
namespace {

using ::testing::HasSubstr;

/// Returns the commands of the page's examples, for the server with this socket.
std::string redis_cli_examples(const std::string& socket) {
  std::ifstream in(std::string(RUSHGATE_ROOT) + "/docs/sale-commands.md");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  std::string commands = "set -e\n";
  for (const std::string& block :
       testing::find_all(text, R"(<!-- redis-cli -->\n((?:    [^\n]*\n)+))")) {
    commands += block;
  }
  return testing::replace_all(commands, "    redis-cli ", "redis-cli -e -s " + socket + " ");
}

TEST(ProgramSaleCommandsTest, ExamplesOfThePageSucceed) {
  const SaleFiles files;
  const std::string socket = (files.sale().parent_path() / "socket").string();
  Program served({"serve", "--port", "0", "--unixsocket", socket, "--http", "127.0.0.1:0", "--dir",
                  files.sale().string()});
  ASSERT_TRUE(served.wait_for_error_text("serving HTTP on ")) << served.error_text();
  const std::string commands = redis_cli_examples(socket);
  ASSERT_THAT(commands, HasSubstr("SALE.BUY"));
  int status = -1;
  const std::string output = testing::output_of(commands, &status);
  EXPECT_EQ(status, 0) << output;
  EXPECT_THAT(output, HasSubstr("published\n1\n"));
  EXPECT_THAT(output, HasSubstr("queued\n"));
  EXPECT_THAT(output, HasSubstr("free\n98\n"));
  EXPECT_EQ(testing::output_of("redis-cli -s " + socket + " MIGRATE 127.0.0.1 1 none 0 10"),
            "NOKEY\n");
  served.send(SIGTERM);
  EXPECT_EQ(served.wait().exit_code, kExitOk);
  EXPECT_EQ(run_program(files.command("audit")).exit_code, kExitOk);
}

TEST(ProgramSaleCommandsTest, KeyspaceAloneHasNoSaleCommands) {
  const SaleFiles files;
  const std::string socket = (files.sale().parent_path() / "socket").string();
  Program served({"serve", "--port", "0", "--unixsocket", socket});
  ASSERT_TRUE(served.wait_for_error_text("serving on ")) << served.error_text();
  EXPECT_THAT(testing::output_of("redis-cli -s " + socket + " SALE.BUY 1 7"),
              HasSubstr("ERR unknown command 'SALE.BUY', with args beginning with: '1' '7'"));
  served.send(SIGTERM);
  EXPECT_EQ(served.wait().exit_code, kExitOk);
}

}  // namespace
}  // namespace rushgate
