// rushgate serve, as Redis's own programs see it.
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/exit_code.h"
#include "tests/apps/program.h"

namespace rushgate {
namespace {

using ::testing::HasSubstr;

class ProgramServeTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string socket() const { return (directory_.path() / "socket").string(); }
  [[nodiscard]] std::string data() const { return (directory_.path() / "a" / "b").string(); }

  /// `rushgate serve --port 0 --unixsocket <socket()>`, and `more`.
  [[nodiscard]] std::vector<std::string> serve(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"serve", "--port", "0", "--unixsocket", socket()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  /// What a program on the PATH prints.
  static std::string output_of(const std::string& command) {
    std::FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
    std::string output;
    char buffer[4'096];
    while (const std::size_t got = std::fread(buffer, 1, sizeof(buffer), pipe)) {
      output.append(buffer, got);
    }
    ::pclose(pipe);
    return output;
  }
  [[nodiscard]] std::string redis_cli(const std::string& arguments) const {
    return output_of("redis-cli -s " + socket() + " " + arguments);
  }

  static void stop(Program& program, int signal = SIGTERM) {
    program.send(signal);
    EXPECT_EQ(program.wait().exit_code, kExitSignal + signal);
  }

  const TemporaryDirectory directory_{TemporaryDirectory::Where::kInTmp};
};

TEST_F(ProgramServeTest, RedisCliSpeaksToIt) {
  Program program(serve());
  ASSERT_TRUE(program.wait_for_error_text("serving on 127.0.0.1 port "));
  EXPECT_EQ(redis_cli("SET k v"), "OK\n");
  EXPECT_EQ(redis_cli("-3 HGETALL none"), "\n");
  EXPECT_EQ(redis_cli("GET k"), "v\n");
  EXPECT_EQ(redis_cli("EVAL 'return ARGV[1]' 0 x"), "x\n");
  stop(program);
}

TEST_F(ProgramServeTest, RedisBenchmarkRunsOnIt) {
  Program program(serve());
  ASSERT_TRUE(program.wait_for_error_text("serving on"));
  const std::string output = output_of("redis-benchmark -s " + socket() +
                                       " --csv -n 2000 -c 20 -P 8 -t ping,set,get,incr,sadd,hset");
  for (const char* line : {"PING_INLINE", "PING_MBULK", "SET", "GET", "INCR", "SADD", "HSET"}) {
    EXPECT_THAT(output, HasSubstr(std::string("\"") + line + "\",\""));
  }
  stop(program, SIGINT);
}

TEST_F(ProgramServeTest, KeepsItsDataInADirectory) {
  {
    Program program(serve({"--dir", data()}));
    ASSERT_TRUE(program.wait_for_error_text("serving on"));
    EXPECT_EQ(redis_cli("SET k v"), "OK\n");
    stop(program, SIGINT);
  }
  Program program(serve({"--dir", data(), "--durability", "sync"}));
  ASSERT_TRUE(program.wait_for_error_text("serving on"));
  EXPECT_EQ(redis_cli("GET k"), "v\n");
  stop(program);
}

TEST_F(ProgramServeTest, AsksForAPassword) {
  Program program(serve({"--requirepass", "secret"}));
  ASSERT_TRUE(program.wait_for_error_text("serving on"));
  EXPECT_EQ(redis_cli("GET k"), "NOAUTH Authentication required.\n\n");
  EXPECT_EQ(redis_cli("--no-auth-warning -a secret SET k v"), "OK\n");
  stop(program);
}

TEST_F(ProgramServeTest, MovesAManualClock) {
  Program program(serve({"--manual-clock"}));
  ASSERT_TRUE(program.wait_for_error_text("serving on"));
  EXPECT_EQ(redis_cli("SET k v PX 5000"), "OK\n");
  EXPECT_EQ(redis_cli("RUSHGATE.ADVANCE 4999"), "OK\n");
  EXPECT_EQ(redis_cli("PTTL k"), "1\n");
  EXPECT_EQ(redis_cli("RUSHGATE.ADVANCE 1"), "OK\n");
  EXPECT_EQ(redis_cli("EXISTS k"), "0\n");
  stop(program);
}

TEST_F(ProgramServeTest, ShutdownEndsItWithoutComplaint) {
  for (const std::string options : {"", " NOSAVE", " SAVE", " SAVE NOW FORCE"}) {
    SCOPED_TRACE(options);
    {
      Program program(serve({"--dir", data()}));
      ASSERT_TRUE(program.wait_for_error_text("serving on"));
      EXPECT_EQ(redis_cli("SHUTDOWN ABORT"), "ERR No shutdown in progress.\n\n");
      EXPECT_EQ(redis_cli("SET k 'v" + options + "'"), "OK\n");
      EXPECT_EQ(redis_cli("SHUTDOWN" + options), "");
      EXPECT_EQ(program.wait().exit_code, kExitOk);
    }
    Program program(serve({"--dir", data()}));
    ASSERT_TRUE(program.wait_for_error_text("serving on"));
    EXPECT_EQ(redis_cli("GET k"), "v" + options + "\n");
    stop(program);
  }
}

TEST_F(ProgramServeTest, BoundsItsMemory) {
  Program program(serve({"--maxmemory", "1mb"}));
  ASSERT_TRUE(program.wait_for_error_text("serving on"));
  EXPECT_EQ(redis_cli("CONFIG GET maxmemory"), "maxmemory\n1048576\n");
  EXPECT_EQ(redis_cli("SETRANGE k 2000000 x"), "2000001\n");
  EXPECT_THAT(redis_cli("SET n 1"), HasSubstr("OOM command not allowed"));
  EXPECT_THAT(redis_cli("INFO memory"), HasSubstr("used_memory:20"));
  EXPECT_EQ(redis_cli("DEL k"), "1\n");
  EXPECT_EQ(redis_cli("SET n 1"), "OK\n");
  stop(program);
}

TEST_F(ProgramServeTest, TimesItsCommands) {
  Program program(serve({}));
  ASSERT_TRUE(program.wait_for_error_text("serving on"));
  EXPECT_EQ(redis_cli("SET k v"), "OK\n");
  EXPECT_THAT(redis_cli("INFO latencystats"), HasSubstr("latency_percentiles_usec_set:p50="));
  stop(program);
}

TEST_F(ProgramServeTest, SaysWhatIsWrongWithItsArguments) {
  const auto refused = [&](const std::vector<std::string>& more) {
    const ProgramResult result = run_program(serve(more));
    EXPECT_EQ(result.exit_code, kExitUsage) << result.err;
    return result.err;
  };
  EXPECT_THAT(refused({"--bind", "0.0.0.0"}), HasSubstr("that takes a password"));
  EXPECT_THAT(refused({"--bind", "nowhere"}), HasSubstr("bind_address 'nowhere' is no IP address"));
  EXPECT_THAT(refused({"--dir", data(), "--durability", "memory"}), HasSubstr("takes no --dir"));
  EXPECT_THAT(refused({"--maxmemory", "much"}), HasSubstr("'much' is no size"));
}

}  // namespace
}  // namespace rushgate
