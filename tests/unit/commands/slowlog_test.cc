// The bounds of the slow log. (tests/conformance/transcripts/tools.txt compares its entries with
// Redis.)
#include <string>
#include <vector>

#include "engine/redis/commands/slowlog_entries.h"
#include "tests/unit/commands/command_test.h"

namespace rushgate {
namespace {

using SlowlogTest = CommandTest;

TEST_F(SlowlogTest, CommandsAreNotTimedByDefault) {
  EXPECT_FALSE(services().settings.times_commands());
  run("SET", "k", "v");
  EXPECT_TRUE(services().slowlog.entries().empty());
}

TEST_F(SlowlogTest, OldestEntryBeyondBoundIsRemoved) {
  services().settings.slowlog_log_slower_than_us = 0;
  services().settings.slowlog_max_len = 3;
  for (int i = 0; i < 10; ++i) run("GET", i);
  const auto& entries = services().slowlog.entries();
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries.front().arguments, (std::vector<std::string>{"GET", "9"}));
  EXPECT_EQ(entries.front().time_s, kStartMs / 1'000);
}

TEST_F(SlowlogTest, IdsContinueAfterReset) {
  services().settings.slowlog_log_slower_than_us = 0;
  run("PING");
  const auto before = services().slowlog.entries().front().id;
  services().slowlog.clear();
  run("PING");
  EXPECT_GT(services().slowlog.entries().front().id, before);
}

TEST_F(SlowlogTest, FastCommandIsNotKept) {
  services().settings.slowlog_log_slower_than_us = 60'000'000;
  run("SET", "k", "v");
  EXPECT_TRUE(services().slowlog.entries().empty());
}

TEST_F(SlowlogTest, PasswordsAreNotKept) {
  const auto shown = [](const Request& request) { return Slowlog::shown(request.views()); };
  using Shown = std::vector<std::string>;
  EXPECT_EQ(shown(Request::of("auth", "p")), (Shown{"auth", "(redacted)"}));
  EXPECT_EQ(shown(Request::of("HELLO", 3, "SETNAME", "n", "AUTH", "u", "p")),
            (Shown{"HELLO", "3", "SETNAME", "n", "AUTH", "(redacted)", "(redacted)"}));
  EXPECT_EQ(shown(Request::of("CONFIG", "SET", "port", 1, "RequirePass", "p")),
            (Shown{"CONFIG", "SET", "port", "1", "RequirePass", "(redacted)"}));
  EXPECT_EQ(shown(Request::of("ACL", "SETUSER", "u", ">p")),
            (Shown{"ACL", "SETUSER", "(redacted)", "(redacted)"}));
  EXPECT_EQ(shown(Request::of("CONFIG", "GET", "requirepass")),
            (Shown{"CONFIG", "GET", "requirepass"}));
}

TEST_F(SlowlogTest, EntryOfHugeRequestIsSmall) {
  services().settings.slowlog_log_slower_than_us = 0;
  Request request = Request::of("DEL");
  for (int i = 0; i < 1'000; ++i) request.add(std::string(10'000, 'x'));
  run_request(request);
  std::size_t bytes = 0;
  const SlowlogEntry& entry = services().slowlog.entries().front();
  for (const std::string& argument : entry.arguments) bytes += argument.size();
  EXPECT_EQ(entry.arguments.size(), 32U);
  EXPECT_LT(bytes, 32U * 150U);
}

}  // namespace
}  // namespace rushgate
