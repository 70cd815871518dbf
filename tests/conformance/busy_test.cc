// Compares a script that exceeds its time with a redis-server: the replies to other clients
// meanwhile, and the script's own.
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/conformance/side_by_side.h"
#include "tests/support/redis_server/raw_connection.h"

namespace rushgate::testing {
namespace {

constexpr int kBusyAfterMs = 20;

class BusyTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::vector<std::string> both() const {
    return {servers_.ours(), servers_.redis()};
  }

  /// Returns the replies to `requests` during `script`, and then that of the script.
  static std::vector<std::string> while_busy(const std::string& path, std::string_view script,
                                             const std::vector<Request>& requests) {
    return while_running(path, Request::of("EVAL", script, 1, "k"), requests);
  }
  /// As above, during a function with this body.
  static std::vector<std::string> while_busy_function(const std::string& path,
                                                      const std::string& body,
                                                      const std::vector<Request>& requests) {
    RawConnection(path).call(Request::of(
        "FUNCTION", "LOAD", "REPLACE",
        "#!lua name=lib\nredis.register_function('f', function(keys) " + body + " end)"));
    return while_running(path, Request::of("FCALL", "f", 1, "k"), requests);
  }
  static std::vector<std::string> while_running(const std::string& path, const Request& runs,
                                                const std::vector<Request>& requests) {
    RawConnection runner(path);
    runner.send(runs);
    const auto client = connect_while_busy(path);
    std::vector<std::string> answers;
    for (const Request& request : requests) {
      client->send(request);
      answers.push_back(client->receive());
    }
    answers.push_back(runner.receive());
    client->send(Request::of("EXISTS", "k"));
    answers.push_back(client->receive());
    return answers;
  }

  const SideBySide servers_{{.script_busy_after_ms = kBusyAfterMs},
                            {"--busy-reply-threshold", std::to_string(kBusyAfterMs)}};
};

TEST_F(BusyTest, RepliesDuringScriptEqualRedis) {
  const std::vector<Request> requests = {
      Request::of("PING"),
      Request::of("SET", "k", "v"),
      Request::of("NOSUCH"),
      Request::of("GET"),
      Request::of("HELLO", 3),
      Request::of("EVAL", "return 1", 0),
      Request::of("SCRIPT", "EXISTS", "x"),
      Request::of("SCRIPT", "NOSUCH"),
      Request::of("MULTI"),
      Request::of("GET", "k"),
      Request::of("EXEC"),
      Request::of("MULTI"),
      Request::of("DISCARD"),
      Request::of("UNWATCH"),
      Request::of("SUBSCRIBE", "c"),
      Request::of("CLIENT", "ID"),
      Request::of("RESET"),
      Request::of("SCRIPT", "KILL", "now"),
      Request::of("SCRIPT", "KILL"),
  };
  std::vector<std::vector<std::string>> answers;
  for (const std::string& path : both()) {
    answers.push_back(while_busy(path, "while true do end", requests));
  }
  // The replies of HELLO and CLIENT ID depend on the client, unless they are errors.
  for (auto& of_one : answers) {
    for (const std::size_t request : {4U, 15U}) {
      if (!of_one[request].starts_with('-')) of_one[request] = "not refused";
    }
  }
  EXPECT_EQ(answers[0], answers[1]);
}

TEST_F(BusyTest, ScriptCatchingAllIsKilledAsInRedis) {
  std::vector<std::vector<std::string>> answers;
  for (const std::string& path : both()) {
    answers.push_back(while_busy(path, "while true do pcall(function() while true do end end) end",
                                 {Request::of("SCRIPT", "KILL")}));
    EXPECT_THAT(answers.back()[1], ::testing::HasSubstr("Script killed by user"));
  }
  EXPECT_EQ(answers[0][0], answers[1][0]);
}

TEST_F(BusyTest, WritingScriptIsNotKillableAsInRedis) {
  constexpr std::string_view kWriter =
      "redis.call('SET', KEYS[1], 'v') local n = 0 while n < 1e8 do n = n + 1 end return n";
  std::vector<std::vector<std::string>> answers;
  for (const std::string& path : both()) {
    answers.push_back(
        while_busy(path, kWriter, {Request::of("SCRIPT", "KILL"), Request::of("SET", "k", "w")}));
    EXPECT_THAT(answers.back()[0], ::testing::StartsWith("-UNKILLABLE"));
  }
  EXPECT_EQ(answers[0], answers[1]);
}

TEST_F(BusyTest, RepliesDuringFunctionEqualRedis) {
  const std::vector<Request> requests = {
      Request::of("PING"),
      Request::of("FUNCTION", "LIST"),
      Request::of("FUNCTION", "NOSUCH"),
      Request::of("FUNCTION", "STATS"),
      Request::of("FUNCTION", "FLUSH"),
      Request::of("FUNCTION", "KILL", "now"),
      Request::of("SCRIPT", "KILL"),
      Request::of("MULTI"),
      Request::of("FUNCTION", "STATS"),
      Request::of("FUNCTION", "KILL"),
      Request::of("EXEC"),
      Request::of("FUNCTION", "KILL"),
  };
  constexpr std::size_t kStats = 3;
  for (const std::string body :
       {"while true do end", "while true do pcall(function() while true do end end) end"}) {
    std::vector<std::vector<std::string>> answers;
    for (const std::string& path : both()) {
      answers.push_back(while_busy_function(path, body, requests));
      std::string& stats = answers.back()[kStats];
      EXPECT_THAT(stats, ::testing::HasSubstr("duration_ms\r\n:"));
      stats.resize(stats.find("duration_ms"));
    }
    EXPECT_EQ(answers[0], answers[1]);
  }
}

TEST_F(BusyTest, KillOfFunctionDuringScriptEqualsRedis) {
  std::vector<std::vector<std::string>> answers;
  for (const std::string& path : both()) {
    answers.push_back(while_busy(path, "while true do end",
                                 {Request::of("FUNCTION", "KILL"), Request::of("FUNCTION", "STATS"),
                                  Request::of("SCRIPT", "KILL")}));
  }
  EXPECT_EQ(answers[0], answers[1]);
}

TEST_F(BusyTest, WritingFunctionIsNotKillableAsInRedis) {
  const std::string writer =
      "redis.call('SET', keys[1], 'v') local n = 0 while n < 1e8 do n = n + 1 end return n";
  std::vector<std::vector<std::string>> answers;
  for (const std::string& path : both()) {
    answers.push_back(while_busy_function(
        path, writer, {Request::of("FUNCTION", "KILL"), Request::of("SCRIPT", "KILL")}));
    EXPECT_THAT(answers.back()[0], ::testing::StartsWith("-UNKILLABLE"));
  }
  EXPECT_EQ(answers[0], answers[1]);
}

TEST_F(BusyTest, KillWithoutScriptEqualsRedis) {
  std::vector<std::string> answers;
  for (const std::string& path : both()) {
    RawConnection client(path);
    client.send(Request::of("SCRIPT", "KILL"));
    answers.push_back(client.receive());
  }
  EXPECT_EQ(answers[0], answers[1]);
}

}  // namespace
}  // namespace rushgate::testing
