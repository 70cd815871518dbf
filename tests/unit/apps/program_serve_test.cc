// `rushgate serve`, used by Redis's own programs.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/exit_code.h"
#include "tests/support/command_output.h"
#include "tests/support/program.h"
#include "tests/support/redis_server/raw_connection.h"

namespace rushgate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ProgramServeTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string socket() const { return (directory_.path() / "socket").string(); }
  [[nodiscard]] std::string data() const { return (directory_.path() / "a" / "b").string(); }

  /// Returns `serve --port 0 --unixsocket <socket()>`, followed by `more`.
  [[nodiscard]] std::vector<std::string> serve(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"serve", "--port", "0", "--unixsocket", socket()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  [[nodiscard]] std::string redis_cli(const std::string& arguments) const {
    return testing::output_of("redis-cli -s " + socket() + " " + arguments);
  }

  static void stop(Program& program, int signal = SIGTERM) {
    program.send(signal);
    EXPECT_EQ(program.wait().exit_code, signal == SIGTERM ? kExitOk : kExitSignal + signal);
  }

  const TemporaryDirectory directory_{TemporaryDirectory::Where::kInTmp};
};

TEST_F(ProgramServeTest, RedisCliConnects) {
  Program program(serve());
  ASSERT_TRUE(program.wait_for_error_text("serving on 127.0.0.1 port "));
  EXPECT_EQ(redis_cli("SET k v"), "OK\n");
  EXPECT_EQ(redis_cli("-3 HGETALL none"), "\n");
  EXPECT_EQ(redis_cli("GET k"), "v\n");
  EXPECT_EQ(redis_cli("EVAL 'return ARGV[1]' 0 x"), "x\n");
  stop(program);
}

TEST_F(ProgramServeTest, RedisBenchmarkRuns) {
  Program program(serve());
  ASSERT_TRUE(program.wait_for_error_text("serving on"));
  const std::string output =
      testing::output_of("redis-benchmark -s " + socket() +
                         " --csv -n 2000 -c 20 -P 8 -t ping,set,get,incr,sadd,hset");
  for (const char* line : {"PING_INLINE", "PING_MBULK", "SET", "GET", "INCR", "SADD", "HSET"}) {
    EXPECT_THAT(output, HasSubstr(std::string("\"") + line + "\",\""));
  }
  stop(program, SIGINT);
}

TEST_F(ProgramServeTest, DirectoryKeepsDataAfterRestart) {
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

TEST_F(ProgramServeTest, PasswordIsRequired) {
  Program program(serve({"--requirepass", "secret"}));
  ASSERT_TRUE(program.wait_for_error_text("serving on"));
  EXPECT_EQ(redis_cli("GET k"), "NOAUTH Authentication required.\n\n");
  EXPECT_EQ(redis_cli("--no-auth-warning -a secret SET k v"), "OK\n");
  stop(program);
}

TEST_F(ProgramServeTest, PasswordComesFromFileOrEnvironment) {
  std::filesystem::create_directories(data());
  const std::string file = data() + "/password";
  const auto expect_password = [&](const std::vector<std::string>& more, const std::string& is) {
    Program program(serve(more));
    ASSERT_TRUE(program.wait_for_error_text("serving on"));
    EXPECT_EQ(redis_cli("GET k"), "NOAUTH Authentication required.\n\n");
    EXPECT_EQ(redis_cli("--no-auth-warning -a " + is + " GET k"), "\n");
    stop(program);
  };
  const auto expect_refusal = [&](const std::vector<std::string>& more, const std::string& why) {
    const ProgramResult result = run_program(serve(more));
    EXPECT_EQ(result.exit_code, kExitUsage) << result.err;
    EXPECT_THAT(result.err, HasSubstr(why));
  };
  for (const char* text : {"of-file", "of-file\n", "of-file\r\n"}) {
    std::ofstream(file) << text;
    expect_password({"--requirepass-file", file}, "of-file");
  }
  expect_refusal({"--requirepass-file", file, "--requirepass", "x"}, "excludes");
  for (const char* text : {"", "\n", "one\ntwo\n"}) {
    std::ofstream(file) << text;
    expect_refusal({"--requirepass-file", file}, "must hold one line, the password");
  }
  ::setenv("RUSHGATE_REQUIREPASS", "of-environment", 1);
  expect_password({}, "of-environment");
  expect_password({"--requirepass", "of-option"}, "of-option");
  ::setenv("RUSHGATE_REQUIREPASS", "", 1);
  expect_refusal({}, "RUSHGATE_REQUIREPASS is empty");
  ::unsetenv("RUSHGATE_REQUIREPASS");
}

TEST_F(ProgramServeTest, IdleClientsAreClosed) {
  Program program(serve({"--timeout", "1", "--tcp-keepalive", "60"}));
  ASSERT_TRUE(program.wait_for_error_text("serving on"));
  EXPECT_EQ(redis_cli("CONFIG GET tcp-keepalive"), "tcp-keepalive\n60\n");
  testing::RawConnection idle(socket());
  EXPECT_EQ(idle.call(Request::of("CONFIG", "GET", "timeout")).elements()[1], Reply::bulk("1"));
  EXPECT_EQ(idle.receive_all(), "");
  stop(program);
}

TEST_F(ProgramServeTest, UnixSocketHasGivenPermissions) {
  Program program(serve({"--unixsocketperm", "600"}));
  ASSERT_TRUE(program.wait_for_error_text("serving on"));
  EXPECT_EQ(testing::output_of("stat -c %a " + socket()), "600\n");
  stop(program);
}

TEST_F(ProgramServeTest, EmptyAddressLeavesUnixSocketAlone) {
  Program program({"serve", "--bind", "", "--unixsocket", socket()});
  ASSERT_TRUE(program.wait_for_error_text("serving on " + socket() + "\n"));
  EXPECT_EQ(redis_cli("SET k v"), "OK\n");
  stop(program);
}

TEST_F(ProgramServeTest, ManualClockAdvancesByCommand) {
  Program program(serve({"--manual-clock"}));
  ASSERT_TRUE(program.wait_for_error_text("serving on"));
  EXPECT_EQ(redis_cli("SET k v PX 5000"), "OK\n");
  EXPECT_EQ(redis_cli("RUSHGATE.ADVANCE 4999"), "OK\n");
  EXPECT_EQ(redis_cli("PTTL k"), "1\n");
  EXPECT_EQ(redis_cli("RUSHGATE.ADVANCE 1"), "OK\n");
  EXPECT_EQ(redis_cli("EXISTS k"), "0\n");
  stop(program);
}

TEST_F(ProgramServeTest, DebugIsAllowedOnRequest) {
  for (const bool is_allowed : {false, true}) {
    Program program(is_allowed ? serve({"--enable-debug-command"}) : serve({}));
    ASSERT_TRUE(program.wait_for_error_text("serving on"));
    const std::string reply = redis_cli("DEBUG SLEEP 0.02");
    if (is_allowed) {
      EXPECT_EQ(reply, "OK\n");
      EXPECT_THAT(redis_cli("SLOWLOG GET 1"), HasSubstr("DEBUG\nSLEEP\n0.02\n"));
    } else {
      EXPECT_THAT(reply, HasSubstr("ERR DEBUG command not allowed."));
    }
    stop(program);
  }
}

TEST_F(ProgramServeTest, ShutdownEndsCleanly) {
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

TEST_F(ProgramServeTest, ConcurrentShutdownsEndCleanly) {
  for (int round = 0; round < 5; ++round) {
    Program program(serve({"--dir", data()}));
    ASSERT_TRUE(program.wait_for_error_text("serving on"));
    std::vector<std::unique_ptr<testing::RawConnection>> clients;
    for (int i = 0; i < 8; ++i) {
      clients.push_back(std::make_unique<testing::RawConnection>(socket()));
    }
    for (const auto& client : clients) client->send(Request::of("SHUTDOWN"));
    EXPECT_EQ(program.wait().exit_code, kExitOk);
    EXPECT_FALSE(std::filesystem::exists(socket()));
  }
}

TEST_F(ProgramServeTest, MaxmemoryRefusesWrites) {
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

TEST_F(ProgramServeTest, InfoShowsCommandLatency) {
  Program program(serve({}));
  ASSERT_TRUE(program.wait_for_error_text("serving on"));
  EXPECT_EQ(redis_cli("SET k v"), "OK\n");
  EXPECT_THAT(redis_cli("INFO latencystats"), HasSubstr("latency_percentiles_usec_set:p50="));
  stop(program);
}

/// Sends a request that makes the server log a warning.
void speak_http(const std::string& socket) {
  testing::RawConnection client(socket);
  client.send_bytes("POST / HTTP/1.1\r\n");
  EXPECT_EQ(client.receive_all(), "");
}

TEST_F(ProgramServeTest, UnreadLogBlocksNoClient) {
  int log[2];
  ASSERT_EQ(::pipe2(log, O_CLOEXEC), 0);
  const int size = ::fcntl(log[1], F_SETPIPE_SZ, 4'096);
  ASSERT_GT(size, 0);
  Program program(serve({"--maxclients", "20"}), log[1]);
  ::close(log[1]);
  char first[64] = {};
  ASSERT_GT(::read(log[0], first, sizeof(first) - 1), 0);
  EXPECT_THAT(first, HasSubstr("serving on"));
  constexpr int kLineBytesMin = 50;
  for (int i = 0; i < 2 * size / kLineBytesMin; ++i) speak_http(socket());
  EXPECT_EQ(redis_cli("SET k v"), "OK\n");
  std::string room(static_cast<std::size_t>(size), '\0');
  ASSERT_GT(::read(log[0], room.data(), room.size()), 0);
  speak_http(socket());
  ASSERT_GT(::read(log[0], room.data(), room.size()), 0);
  EXPECT_THAT(room, HasSubstr("lines were dropped before this one) ["));
  ::close(log[0]);
  speak_http(socket());
  EXPECT_EQ(redis_cli("GET k"), "v\n");
  stop(program);
}

TEST_F(ProgramServeTest, ServesWithStderrClosed) {
  Program program(serve({"--dir", data()}), Program::kClosed);
  while (redis_cli("PING") != "PONG\n") ASSERT_FALSE(program.has_ended());
  EXPECT_EQ(redis_cli("SET k v"), "OK\n");
  speak_http(socket());
  stop(program);
}

TEST_F(ProgramServeTest, SecondSignalEndsRunningScript) {
  Program program(serve());
  ASSERT_TRUE(program.wait_for_error_text("serving on"));
  EXPECT_EQ(redis_cli("CONFIG SET busy-reply-threshold 10"), "OK\n");
  testing::RawConnection client(socket());
  client.send(Request::of("EVAL", "while true do end", 0));
  testing::connect_while_busy(socket());
  program.send(SIGTERM);
  ASSERT_TRUE(program.wait_for_error_text(
      "a script still runs; a second SIGINT or SIGTERM ends the program at once"));
  program.send(SIGTERM);
  EXPECT_EQ(program.wait().signal, SIGTERM);
}

TEST_F(ProgramServeTest, OpenFilesLimitBoundsClients) {
  const auto said = [&](const std::string& limit) {
    return testing::output_of("ulimit -n " + limit + "; " RUSHGATE_PROGRAM " serve --bind nowhere");
  };
  EXPECT_THAT(said("264"), HasSubstr("clients_max 10000 is lowered to 72: 264 open files"));
  EXPECT_THAT(said("100"),
              HasSubstr("100 open files are allowed (ulimit -n): that leaves none for clients"));
}

TEST_F(ProgramServeTest, BothPortsShareOpenFiles) {
  const auto said = [&](const std::string& limit) {
    return testing::output_of("ulimit -n " + limit +
                              "; " RUSHGATE_PROGRAM " serve --port 0 --http nowhere:0");
  };
  EXPECT_THAT(said("1000"), HasSubstr("1000 open files are allowed (ulimit -n): at most 308 Redis "
                                      "clients and 308 HTTP connections\n"));
  const std::string few = said("300");
  EXPECT_THAT(few,
              HasSubstr("300 open files are allowed (ulimit -n): that leaves none for clients"));
  EXPECT_THAT(few, Not(HasSubstr("serving")));
}

TEST_F(ProgramServeTest, InvalidArgumentIsNamed) {
  const auto refused = [&](const std::vector<std::string>& more) {
    const ProgramResult result = run_program(serve(more));
    EXPECT_EQ(result.exit_code, kExitUsage) << result.err;
    return result.err;
  };
  EXPECT_THAT(refused({"--bind", "0.0.0.0"}), HasSubstr("that takes a password"));
  EXPECT_THAT(refused({"--bind", "nowhere"}), HasSubstr("bind_address 'nowhere' is no IP address"));
  EXPECT_THAT(refused({"--dir", data(), "--durability", "memory"}), HasSubstr("remove --dir"));
  EXPECT_THAT(refused({"--maxmemory", "much"}), HasSubstr("'much' is not a size"));
  EXPECT_THAT(refused({"--maxmemory", ""}), HasSubstr("'' is not a size"));
  EXPECT_THAT(refused({"--maxmemory", "99999999999gb"}), HasSubstr("is not a size"));
  EXPECT_THAT(refused({"--dir", ""}), HasSubstr("--dir: it is empty"));
  EXPECT_THAT(refused({"--requirepass", ""}), HasSubstr("--requirepass: it is empty"));
  for (const char* mode : {"", "888", "1777", "rwx", "00777", "-1"}) {
    EXPECT_THAT(refused({"--unixsocketperm", mode}), HasSubstr("is not a mode like 700"));
  }
  const auto refused_limit = [&](const std::string& a, const std::string& b, const std::string& c,
                                 const std::string& d) {
    return refused({"--client-output-buffer-limit", a, b, c, d});
  };
  EXPECT_THAT(refused_limit("all", "1", "0", "0"), HasSubstr("'all' is not one of normal|pubsub"));
  EXPECT_THAT(refused_limit("pubsub", "much", "0", "0"), HasSubstr("'much' is not a size"));
  EXPECT_THAT(refused_limit("pubsub", "1", "more", "0"), HasSubstr("'more' is not a size"));
  EXPECT_THAT(refused_limit("pubsub", "1", "1", "-1"),
              HasSubstr("'-1' is not a number of seconds"));
  EXPECT_THAT(refused_limit("normal", "1", "1", "1"), HasSubstr("normal takes no soft bound"));
  EXPECT_THAT(refused({"--client-output-buffer-limit", "normal", "1"}), HasSubstr("4"));
  EXPECT_THAT(refused({"--timeout", "-1"}), HasSubstr("is not a number from 0 to"));
  EXPECT_THAT(refused({"--tcp-keepalive", "32768"}), HasSubstr("is not a number from 0 to 32767"));
  EXPECT_THAT(refused({"--durability", "sync"}), HasSubstr("it requires --dir"));
  EXPECT_THAT(refused({"--dir", data(), "--durability", "fsync"}),
              HasSubstr("'fsync' is not one of memory|os|everysec|sync"));
  EXPECT_THAT(refused({"--maxclients", "0"}), HasSubstr("'0' is not a number from 1 to 1000000"));
  for (const char* port : {"", "0x50", "010", " 7", "65536", "-1", "http"}) {
    const ProgramResult result = run_program({"serve", "--port", port});
    EXPECT_EQ(result.exit_code, kExitUsage);
    EXPECT_THAT(result.err,
                HasSubstr(std::string("--port: '") + port + "' is not a number from 0 to 65535"));
  }
}

}  // namespace
}  // namespace rushgate
