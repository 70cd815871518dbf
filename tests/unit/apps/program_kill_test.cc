// The program is killed by SIGKILL at random moments and restarted by the same command. A row
// counts once, and each accepted row is an order.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/exit_code.h"
#include "tests/support/program.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

using ::testing::HasSubstr;

constexpr int kRows = 6'000;
constexpr int kSpanMs = 600;

/// Returns more requests than there are vouchers. Many users repeat theirs.
std::string rush(std::mt19937_64& random) {
  std::string text = "at_ms,user_id,voucher_id\n";
  for (int i = 0; i < kRows; ++i) {
    const int at_ms = i * kSpanMs / kRows;
    text += std::to_string(at_ms) + "," + std::to_string(random() % 2'000) + "," +
            std::to_string(1 + random() % 2) + "\n";
  }
  return text;
}

/// Starts and kills the program up to `times` times at random moments, then lets it complete.
ProgramResult run_with_kills(const std::vector<std::string>& arguments, int times,
                             std::mt19937_64& random) {
  for (int i = 0; i < times; ++i) {
    Program program(arguments);
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % (kSpanMs / 2)));
    program.send(SIGKILL);
    const ProgramResult result = program.wait();
    if (result.signal != SIGKILL) return result;
  }
  return run_program(arguments);
}

void check_completed(const SaleFiles& files, const ProgramResult& completed) {
  ASSERT_EQ(completed.exit_code, kExitOk) << completed.err;
  const auto table = completed.json();
  EXPECT_EQ(table["rows"], kRows);
  int counted = 0;
  for (const auto& [outcome, count] : table["outcomes"].items()) counted += count.get<int>();
  EXPECT_EQ(counted, kRows);
  EXPECT_EQ(table["outcomes"]["accepted"], 1'500);  // the whole stock: more users want one
  EXPECT_EQ(table["created"], 1'500);
  EXPECT_EQ(table["audit"]["passed"], true);
  EXPECT_EQ(run_program(files.command("audit")).exit_code, kExitOk);
  EXPECT_EQ(run_program(files.command("orders", {"--json"})).json().size(), 1'500u);
}

class KillTest : public ::testing::TestWithParam<const char*> {};

TEST_P(KillTest, KilledReplayContinues) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 3; ++round) {
    const SaleFiles files;
    files.write_requests(rush(random));
    files.write_vouchers({500, 1'000});
    const auto arguments = files.replay({"--json", "--real-time", "--workers",
                                         std::to_string(1 + round), "--durability", GetParam()});
    const ProgramResult completed = run_with_kills(arguments, 6, random);
    check_completed(files, completed);
    const ProgramResult again = run_program(arguments);
    EXPECT_EQ(again.out, completed.out);
    EXPECT_THAT(again.err, HasSubstr("nothing was bought\n"));
  }
}

INSTANTIATE_TEST_SUITE_P(Durabilities, KillTest, ::testing::Values("os", "everysec", "sync"),
                         [](const auto& durability) { return std::string(durability.param); });

TEST(KillFewerWorkersTest, EntriesOfDeadWorkerAreStoredAtOnce) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  const SaleFiles files;
  files.write_requests(rush(random));
  files.write_vouchers({500, 1'000});
  for (int i = 0; i < 4; ++i) {
    Program program(files.replay({"--real-time", "--workers", "4"}));
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % kSpanMs));
    program.send(SIGKILL);
    program.wait();
  }
  check_completed(files, run_program(files.replay({"--json", "--workers", "1"})));
}

/// Kills a demo while it writes its requests, to a pipe that is full.
void kill_while_it_writes(const SaleFiles& files, const std::vector<std::string>& arguments) {
  std::filesystem::create_directories(files.sale());
  const std::filesystem::path unfinished = files.sale() / "requests.csv.unfinished";
  ASSERT_EQ(mkfifo(unfinished.c_str(), 0600), 0);
  Program program(arguments);
  const int pipe = open(unfinished.c_str(), O_RDONLY | O_CLOEXEC);
  char bytes[4'096];
  const ssize_t size = read(pipe, bytes, sizeof bytes);
  program.send(SIGKILL);
  EXPECT_EQ(program.wait().signal, SIGKILL);
  close(pipe);
  ASSERT_GT(size, 0);
  std::filesystem::remove(unfinished);
  std::ofstream(unfinished, std::ios::binary).write(bytes, size);  // the file as the kill left it
  EXPECT_FALSE(std::filesystem::exists(files.sale() / "requests.csv"));
  EXPECT_FALSE(std::filesystem::exists(files.sale() / "vouchers.json"));
}

TEST(KillDemoTest, KillDuringFileWritesIsRecovered) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  const SaleFiles files;
  const auto arguments = files.command("demo", {"--json", "--seconds", "2", "--requests", "50000"});
  kill_while_it_writes(files, arguments);
  const ProgramResult completed = run_with_kills(arguments, 6, random);
  ASSERT_EQ(completed.exit_code, kExitOk) << completed.err;
  const auto table = completed.json();
  EXPECT_EQ(table["rows"], 50'000);
  EXPECT_EQ(table["audit"]["passed"], true);
  EXPECT_EQ(table["audit"]["vouchers"][0]["created"], 1'000);
  EXPECT_EQ(table["audit"]["vouchers"][2]["created"], 20);
  EXPECT_EQ(table["created"], table["outcomes"]["accepted"]);
  EXPECT_EQ(run_program(files.command("audit")).exit_code, kExitOk);
  EXPECT_EQ(run_program(arguments).out, completed.out);
}

}  // namespace
}  // namespace rushgate
