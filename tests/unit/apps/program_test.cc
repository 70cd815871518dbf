// The command line: input, exit codes, stdout and stderr.
#include "tests/support/program.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/exit_code.h"
#include "apps/input/demo_input.h"
#include <rushgate/clock.h>
#include <rushgate/engine.h>
#include <rushgate/flash_sale.h>

namespace rushgate {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

/// Returns the requests of 100 users. Each asks twice for voucher 1, which has a stock of 30, and
/// once for the unknown voucher 9.
std::string small_rush() {
  std::string text = "at_ms,user_id,voucher_id\n";
  for (int user = 1; user <= 100; ++user) {
    const std::string asks = std::to_string(user) + "," + std::to_string(user);
    for (const char* voucher : {",1\n", ",1\n", ",9\n"}) text.append(asks).append(voucher);
  }
  return text;
}

/// Returns `count` requests for voucher 1, one per ms.
std::string long_rush(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += std::to_string(i) + "," + std::to_string(i) + ",1\n";
  }
  return text;
}

TEST(ReplayProgramTest, RequestsFileIsSold) {
  const SaleFiles files;
  files.write_requests(small_rush());
  files.write_vouchers({30});
  const ProgramResult result = run_program(files.replay({"--json"}));
  ASSERT_EQ(result.exit_code, kExitOk) << result.err;
  const auto table = result.json();
  EXPECT_EQ(table["rows"], 300);
  EXPECT_EQ(table["outcomes"]["accepted"], 30);
  EXPECT_EQ(table["outcomes"]["unknown voucher"], 100);
  const int refused =
      table["outcomes"]["sold out"].get<int>() + table["outcomes"]["limit reached"].get<int>();
  EXPECT_EQ(refused, 170);
  EXPECT_EQ(table["created"], 30);
  EXPECT_EQ(table["audit"]["passed"], true);
  EXPECT_TRUE(std::filesystem::is_directory(files.sale() / "keyspace"));
  EXPECT_TRUE(std::filesystem::exists(files.sale() / "orders.db"));
}

TEST(ReplayProgramTest, EveryDurabilityGivesSameResult) {
  for (const char* const durability : {"memory", "os", "everysec", "sync"}) {
    const SaleFiles files;
    files.write_requests(small_rush());
    files.write_vouchers({30});
    const auto result = run_program(files.replay({"--json", "--durability", durability}));
    ASSERT_EQ(result.exit_code, kExitOk) << durability << ": " << result.err;
    EXPECT_EQ(result.json()["outcomes"]["accepted"], 30) << durability;
    EXPECT_EQ(result.json()["created"], 30) << durability;
  }
}

TEST(ReplayProgramTest, MemoryDurabilityWritesNoFiles) {
  const SaleFiles files;
  files.write_requests(small_rush());
  files.write_vouchers({30});
  const auto result = run_program(
      {"replay", files.requests(), "--vouchers", files.vouchers(), "--durability", "memory"});
  EXPECT_EQ(result.exit_code, kExitOk) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("orders created +30\n"));
  EXPECT_FALSE(std::filesystem::exists(files.sale()));
}

TEST(ReplayProgramTest, DurabilityWithRedisIsRefused) {
  const SaleFiles files;
  files.write_requests(small_rush());
  files.write_vouchers({30});
  const std::string redis = "tcp://127.0.0.1:1";
  for (const auto& arguments : {files.replay({"--redis", redis, "--durability", "os"}),
                                std::vector<std::string>{"demo", "--dir", files.sale(), "--redis",
                                                         redis, "--durability", "os"}}) {
    const auto result = run_program(arguments);
    EXPECT_EQ(result.exit_code, kExitUsage);
    EXPECT_THAT(result.err, HasSubstr("--durability: with --keyspace"));
    EXPECT_FALSE(std::filesystem::exists(files.sale()));
  }
}

TEST(ReplayProgramTest, KeyspaceMayBeInAnotherDirectory) {
  const SaleFiles files;
  files.write_requests(small_rush());
  files.write_vouchers({30});
  const TemporaryDirectory elsewhere;
  const std::filesystem::path keyspace = elsewhere.path() / "keyspace";
  const std::vector<std::string> there = {"--keyspace", keyspace.string() + "?durability=everysec"};
  const auto result = run_program(files.replay(there));
  ASSERT_EQ(result.exit_code, kExitOk) << result.err;
  EXPECT_TRUE(std::filesystem::exists(keyspace));
  EXPECT_FALSE(std::filesystem::exists(files.sale() / "keyspace"));
  EXPECT_EQ(run_program(files.command("audit", there)).exit_code, kExitOk);
  const auto without = run_program(files.command("audit"));
  EXPECT_EQ(without.exit_code, kExitUsage);
  EXPECT_THAT(without.err, HasSubstr("is elsewhere: give its URL"));
  const auto its_own = run_program(files.command("audit", {"--keyspace", files.sale().string()}));
  EXPECT_EQ(its_own.exit_code, kExitUsage);
  EXPECT_THAT(its_own.err, HasSubstr("a keyspace needs a directory of its own"));
}

TEST(ReplayProgramTest, KeyspaceInMemoryIsRebuiltFromOrders) {
  const SaleFiles files;
  files.write_requests(small_rush());
  files.write_vouchers({30});
  const std::vector<std::string> in_memory = {"--keyspace", "memory:"};
  const auto result = run_program(files.replay(in_memory));
  ASSERT_EQ(result.exit_code, kExitOk) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("orders created +30\n"));
  EXPECT_EQ(run_program(files.command("audit", in_memory)).exit_code, kExitOk);
  EXPECT_FALSE(std::filesystem::exists(files.sale() / "keyspace"));
}

TEST(ReplayProgramTest, RepetitionAfterLostKeyspaceBuysNothing) {
  const Voucher unlimited{
      .id = 1, .stock = 20, .end_ms = 4'000'000'000'000, .limits = {.per_user = 0}};
  for (const std::vector<std::string>& keyspace :
       {std::vector<std::string>{}, {"--keyspace", "memory:"}}) {
    const SaleFiles files;
    files.write_requests("0,7,1\n1,7,1\n2,7,1\n3,7,1\n4,7,1\n");
    std::ofstream(files.vouchers(), std::ios::binary) << format_vouchers({unlimited});
    ASSERT_EQ(run_program(files.replay(keyspace)).exit_code, kExitOk);
    std::vector<std::string> listing = keyspace;
    listing.emplace_back("--json");
    const auto first = run_program(files.command("orders", listing)).json();
    std::filesystem::remove_all(files.sale() / "keyspace");
    ASSERT_EQ(run_program(files.replay(keyspace)).exit_code, kExitOk);
    EXPECT_EQ(run_program(files.command("orders", listing)).json(), first);
    EXPECT_EQ(first.size(), 5U);
    EXPECT_THAT(first[0]["idempotency_key"].get<std::string>(), HasSubstr(":1"));
  }
}

TEST(ReplayProgramTest, MalformedLineStopsItBeforeSales) {
  const SaleFiles files;
  files.write_requests(small_rush() + "5,seven,1\n6,7\n");
  files.write_vouchers({30});
  const auto result = run_program(files.replay());
  EXPECT_EQ(result.exit_code, kExitUsage);
  EXPECT_THAT(result.err,
              StartsWith(files.requests() + ":302: user_id is not a whole number: \"seven\"\n" +
                         files.requests() + ":303: 2 fields where 3 are expected"));
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(files.sale()));
}

TEST(ReplayProgramTest, MalformedLinesAreSkippedOnRequest) {
  const SaleFiles files;
  files.write_requests(small_rush() + "5,seven,1\n");
  files.write_vouchers({30});
  const auto result = run_program(files.replay({"--skip-bad"}));
  EXPECT_EQ(result.exit_code, kExitOk) << result.err;
  EXPECT_THAT(result.err, HasSubstr(":302: user_id"));
  EXPECT_THAT(result.out, ContainsRegex("lines skipped +1\n"));
  EXPECT_THAT(result.out, ContainsRegex("requests +300\n"));
}

TEST(ReplayProgramTest, InvalidVoucherIsNamed) {
  const SaleFiles files;
  files.write_requests(small_rush());
  files.write_vouchers({30, -1});
  const auto result = run_program(files.replay());
  EXPECT_EQ(result.exit_code, kExitUsage);
  EXPECT_THAT(result.err,
              HasSubstr(files.vouchers() + ": [1]: stock must be from 0 to 1000000000000, not -1"));
  EXPECT_FALSE(std::filesystem::exists(files.sale()));
}

TEST(ReplayProgramTest, CompletedReplayPrintsTableAgain) {
  const SaleFiles files;
  files.write_requests(small_rush());
  files.write_vouchers({30});
  const auto first = run_program(files.replay());
  ASSERT_EQ(first.exit_code, kExitOk) << first.err;
  const auto second = run_program(files.replay());
  EXPECT_EQ(second.exit_code, kExitOk);
  EXPECT_EQ(second.out, first.out);
  EXPECT_THAT(second.err, HasSubstr("nothing was bought\n"));
}

TEST(ReplayProgramTest, ChangedVouchersAreRefused) {
  const SaleFiles files;
  files.write_requests(small_rush());
  files.write_vouchers({30});
  ASSERT_EQ(run_program(files.replay()).exit_code, kExitOk);
  files.write_vouchers({40});
  const auto result = run_program(files.replay());
  EXPECT_EQ(result.exit_code, kExitUsage);
  EXPECT_THAT(result.err, HasSubstr("was started here with other vouchers"));
}

TEST(ReplayProgramTest, OtherRequestsContinueSameSale) {
  const SaleFiles files;
  files.write_vouchers({130});
  files.write_requests(small_rush());
  ASSERT_EQ(run_program(files.replay()).exit_code, kExitOk);  // 100 users have one each
  files.write_requests(long_rush(200));
  const auto result = run_program(files.replay({"--json"}));
  ASSERT_EQ(result.exit_code, kExitOk) << result.err;
  EXPECT_EQ(result.json()["outcomes"]["accepted"], 30);
  EXPECT_EQ(result.json()["created"], 30);
  EXPECT_EQ(result.json()["audit"]["vouchers"][0]["created"], 130);
}

TEST(ReplayProgramTest, StockBelowSoldIsRefused) {
  const SaleFiles files;
  files.write_vouchers({30});
  files.write_requests(small_rush());
  ASSERT_EQ(run_program(files.replay()).exit_code, kExitOk);
  files.write_vouchers({20});
  files.write_requests(long_rush(200));
  const auto result = run_program(files.replay());
  EXPECT_EQ(result.exit_code, kExitUsage);
  EXPECT_THAT(result.err, HasSubstr("10 more are sold than a stock of 20 allows"));
}

TEST(ReplayProgramTest, InterruptFinishesAcceptedOrdersAndResumesLater) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const SaleFiles files;
    files.write_vouchers({1'000'000});
    files.write_requests(long_rush(60'000));  // one minute of requests
    Program program(files.replay({"--real-time", "--json"}));
    ASSERT_TRUE(program.wait_for_error_text(" requests, "));  // a line of progress
    program.send(signal);
    const auto interrupted = program.wait();
    EXPECT_EQ(interrupted.exit_code, kExitSignal + signal);
    EXPECT_THAT(interrupted.err, HasSubstr("interrupted: "));
    EXPECT_THAT(interrupted.err, HasSubstr("run the same command to continue"));
    const auto table = interrupted.json();
    EXPECT_GT(table["outcomes"]["accepted"], 0);
    EXPECT_LT(table["outcomes"]["accepted"], 60'000);
    EXPECT_EQ(table["created"], table["outcomes"]["accepted"]);
    EXPECT_EQ(table["audit"]["passed"], true);

    const auto completed = run_program(files.replay({"--json"}));
    ASSERT_EQ(completed.exit_code, kExitOk) << completed.err;
    EXPECT_THAT(completed.err, HasSubstr("continuing an interrupted replay"));
    EXPECT_EQ(completed.json()["starts"], 2);
    EXPECT_EQ(completed.json()["outcomes"]["accepted"], 60'000);
    EXPECT_EQ(completed.json()["created"], 60'000);
  }
}

TEST(ReplayProgramTest, InterruptAfterLastReplyStoresOrders) {
  const SaleFiles files;
  files.write_vouchers({1'000'000});
  files.write_requests(long_rush(3'000));
  Program program(files.replay({"--real-time", "--json"}));
  ASSERT_TRUE(program.wait_for_error_text(" requests, "));  // a line of progress
  constexpr int kPatienceMs = 60'000;
  SQLite::Database orders((files.sale() / "orders.db").string(), SQLite::OPEN_READWRITE,
                          kPatienceMs);
  orders.exec("BEGIN IMMEDIATE");  // from now on no order can be stored
  ASSERT_TRUE(program.wait_for_error_text("3,000 of 3,000 requests"));
  program.send(SIGINT);
  orders.exec("ROLLBACK");
  const auto result = program.wait();
  EXPECT_EQ(result.exit_code, kExitOk) << result.err;
  EXPECT_THAT(result.err, HasSubstr("interrupted after the last request"));
  EXPECT_EQ(result.json()["created"], 3'000);
}

TEST(ReplayProgramTest, EventsPayAndCancel) {
  const SaleFiles files;
  Voucher voucher{.id = 1, .stock = 30, .price_cents = 250, .payment_ms = 3'600'000};
  std::ofstream(files.vouchers(), std::ios::binary) << format_vouchers({voucher});
  std::string text = "at_ms,user_id,voucher_id,event\n";
  for (int user = 1; user <= 30; ++user) {
    const std::string row = "," + std::to_string(user) + ",1,";
    text += "0" + row + "buy\n";
    if (user <= 20) text += "1" + row + "pay\n";
    if (user > 15 && user <= 25) text += "2" + row + "cancel\n";
  }
  for (int user = 31; user <= 35; ++user) text += "3," + std::to_string(user) + ",1,buy\n";
  files.write_requests(text);
  const auto result = run_program(files.replay({"--json", "--batch", "30", "--threads", "1"}));
  ASSERT_EQ(result.exit_code, kExitOk) << result.err;
  const auto table = result.json();
  EXPECT_EQ(table["outcomes"]["accepted"], 35);
  EXPECT_EQ(table["pay"]["done"], 20);
  EXPECT_EQ(table["cancel"]["done"], 5);
  EXPECT_EQ(table["cancel"]["too late"], 5) << "paid before";
  EXPECT_EQ(table["audit"]["money"]["kept"], 20 * 250);
  EXPECT_EQ(table["audit"]["vouchers"][0]["unpaid"], 10);
  EXPECT_EQ(table["audit"]["vouchers"][0]["ended"], 5);
  EXPECT_EQ(run_program(files.replay({"--json"})).out, result.out);

  files.write_requests(text + "4,99,1,pay\n");
  const auto refused = run_program(files.replay());
  EXPECT_EQ(refused.exit_code, kExitUsage);
  EXPECT_THAT(refused.err, HasSubstr(":67: event: no buy row of user 99 and voucher 1"));
}

// ---- The demo -----------------------------------------------------------------------------------

int sold(const nlohmann::ordered_json& table, std::size_t voucher) {
  return table["audit"]["vouchers"].at(voucher - 1)["created"].get<int>();
}

TEST(DemoProgramTest, DemoNamesDirectoryAndSellsOut) {
  const SaleFiles files;
  const auto result = run_program(files.command("demo", {"--fast", "--json"}));
  ASSERT_EQ(result.exit_code, kExitOk) << result.err;
  EXPECT_THAT(result.err, HasSubstr("the demo's sale is in " + files.sale().string()));
  const auto table = result.json();
  EXPECT_EQ(table["rows"], 200'000);
  EXPECT_EQ(table["audit"]["passed"], true);
  EXPECT_EQ(sold(table, 1), 1'000);
  EXPECT_EQ(sold(table, 2), 5'000);
  // The late voucher may or may not have begun: that depends on the speed of the machine.
  EXPECT_EQ(table["outcomes"]["accepted"], 6'000 + sold(table, 3));
  const auto again = run_program(files.command("demo", {"--fast", "--json"}));
  EXPECT_EQ(again.out, result.out);

  const auto& second = table["second_act"];
  EXPECT_EQ(second["sold"], 1'000);
  EXPECT_EQ(second["paid"], 800);
  EXPECT_EQ(second["cancelled"], 100);
  EXPECT_EQ(second["timed_out"], 100);
  EXPECT_EQ(second["paid_late"], 50);
  EXPECT_EQ(second["resold"], 200);
  const auto& money = second["audit"]["money"];
  EXPECT_EQ(money["kept"], 1'000 * 4'500);
  EXPECT_EQ(money["due"], 50 * 4'500);
  EXPECT_EQ(second["audit"]["passed"], true);
  const auto text = run_program(files.command("demo", {"--fast"}));
  EXPECT_THAT(text.out, ContainsRegex("paid too late, due back +50\n"));
}

TEST(DemoProgramTest, LateVoucherSellsOutAfterItsBegin) {
  const SaleFiles files;
  std::filesystem::create_directories(files.sale());
  const DemoOptions options = {.requests = 50'000};
  ASSERT_TRUE(write_demo(files.sale(), options, SystemClock().now_ms(), /*late_ms=*/0).ok());
  const auto result =
      run_program(files.command("demo", {"--fast", "--requests", "50000", "--json"}));
  ASSERT_EQ(result.exit_code, kExitOk) << result.err;
  const auto table = result.json();
  EXPECT_EQ(sold(table, 1), 1'000);
  EXPECT_EQ(sold(table, 3), 20);
  EXPECT_EQ(table["outcomes"]["accepted"], 1'020 + sold(table, 2));
  EXPECT_EQ(table["outcomes"].value("not started", 0), 0);
}

TEST(DemoProgramTest, RealTimeLateVoucherSellsOutAfterRefusals) {
  // On a slow machine the voucher begins before the first request. Then the next rush lasts longer.
  int not_started = 0;
  for (int seconds = 1; not_started == 0; seconds *= 2) {
    const SaleFiles files;
    const auto result = run_program(files.command(
        "demo", {"--seconds", std::to_string(seconds), "--requests", "50000", "--json"}));
    ASSERT_EQ(result.exit_code, kExitOk) << result.err;
    const auto table = result.json();
    EXPECT_EQ(sold(table, 1), 1'000);
    EXPECT_EQ(sold(table, 3), 20);
    not_started = table["outcomes"].value("not started", 0);
  }
}

TEST(DemoProgramTest, AnotherSeedNeedsAnotherDirectory) {
  const SaleFiles files;
  ASSERT_EQ(run_program(files.command("demo", {"--fast"})).exit_code, kExitOk);
  const auto result = run_program(files.command("demo", {"--fast", "--seed", "2"}));
  EXPECT_EQ(result.exit_code, kExitUsage);
  EXPECT_THAT(result.err, HasSubstr("was generated from another seed"));
}

// ---- Usage --------------------------------------------------------------------------------------

TEST(ProgramUsageTest, EveryCommandHasHelp) {
  EXPECT_EQ(run_program({"--version"}).out, "rushgate " + std::string(Engine::version()) + '\n');
  EXPECT_EQ(run_program({"--version"}).exit_code, kExitOk);
  EXPECT_THAT(run_program({"--help"}).out, HasSubstr("Exit codes: 0 done"));
  for (const char* const name :
       {"replay", "demo", "audit", "orders", "status", "export", "watch", "pay", "cancel", "use",
        "refund", "payments", "close", "dead-letters"}) {
    const auto result = run_program({name, "--help"});
    EXPECT_EQ(result.exit_code, kExitOk) << name;
    EXPECT_THAT(result.out, HasSubstr("Usage: rushgate " + std::string(name)));
    EXPECT_THAT(result.out, HasSubstr("Exit codes: 0 done"));
  }
}

TEST(ProgramUsageTest, InvalidArgumentsExitWith2) {
  const SaleFiles files;
  files.write_requests(small_rush());
  files.write_vouchers({30});
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"sell"},
      {"replay"},
      {"replay", files.requests(), "--vouchers", files.vouchers()},  // no directory
      files.replay({"--durability", "maybe"}),
      files.replay({"--threads", "0"}),
      files.replay({"--durability", "os", "--redis", "redis://localhost"}),
      files.replay({"--redis", "http://localhost"}),
      files.replay({"--keyspace", "memory:x"}),
      files.replay({"--keyspace", files.sale().string() + "?durability=often"}),
      {"serve", "--keyspace", "redis://localhost"},
      files.command("status", {"-5"}),
      files.command("orders", {"--state", "lost"}),
      {"replay", files.requests() + "x", "--vouchers", files.vouchers(), "--dir", files.sale()},
      {"replay", files.requests(), "--vouchers", files.vouchers() + "x", "--dir", files.sale()},
      {"replay", files.requests(), "--vouchers", files.requests(), "--dir", files.sale()},
  };
  for (const auto& arguments : wrong) {
    const auto result = run_program(arguments);
    EXPECT_EQ(result.exit_code, kExitUsage) << ::testing::PrintToString(arguments);
    EXPECT_THAT(result.out, IsEmpty());
    EXPECT_THAT(result.err, Not(IsEmpty()));
    EXPECT_FALSE(std::filesystem::exists(files.sale()));
  }
}

TEST(ProgramUsageTest, UnknownCommandIsNamed) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"sell"}, {"sell", "--help"}, {"--help", "sell"}, {"--verbose", "sell", "orders"}}) {
    const auto result = run_program(arguments);
    EXPECT_EQ(result.exit_code, kExitUsage) << ::testing::PrintToString(arguments);
    EXPECT_EQ(result.err, "rushgate: there is no command 'sell': `rushgate --help` lists them\n");
    EXPECT_THAT(result.out, IsEmpty());
  }
}

TEST(ProgramUsageTest, ReadingCreatesNothing) {
  const SaleFiles files;
  for (const auto& arguments :
       {files.command("audit"), files.command("orders"), files.command("status", {"5"}),
        files.command("dead-letters"), files.command("dead-letters", {"--retry"}),
        files.command("payments"), files.command("watch", {"--count", "1"}),
        files.command("pay", {"5", "--payment", "p1", "--amount", "1"}),
        files.command("close", {"1"}),
        files.command("export", {"--what", "orders", "--format", "csv"})}) {
    const auto result = run_program(arguments);
    EXPECT_EQ(result.exit_code, kExitUsage) << arguments[0];
    EXPECT_THAT(result.err, HasSubstr("there is no sale in " + files.sale().string()));
    EXPECT_FALSE(std::filesystem::exists(files.sale()));
  }
}

}  // namespace
}  // namespace rushgate
