// Clients and job queues written for Redis work on `rushgate serve` as on a redis-server: the
// programs in programs/ print the same on both.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "tests/support/program.h"
#include "tests/support/redis_server/redis_server.h"
#include "tests/support/temporary_directory.h"

namespace rushgate::testing {
namespace {

struct ClientProgram {
  const char* name;
  const char* file;         // in programs/
  const char* interpreter;  // of the system: another one lacks the packages
  const char* flags;
  const char* packages;  // of Debian
};

void PrintTo(const ClientProgram& program, std::ostream* out) { *out << program.file; }

/// Leaves the variables and the packages of the user out, and writes no files next to the program.
constexpr char kPython[] = "-EsB";

const ClientProgram kPrograms[] = {
    {"Celery", "celery_program.py", "/usr/bin/python3", kPython, "python3-celery python3-redis"},
    {"Perl", "perl_redis.pl", "/usr/bin/perl", "", "perl libredis-perl"},
    {"Phpredis", "phpredis.php", "/usr/bin/php", "", "php-cli php-redis"},
    {"RedisCli", "redis_cli.sh", "/bin/sh", "", "redis-tools"},
    {"RedisPy", "redis_py.py", "/usr/bin/python3", kPython, "python3-redis"},
    {"Rq", "rq_program.py", "/usr/bin/python3", kPython, "python3-rq python3-redis"},
    {"Ruby", "ruby_redis.rb", "/usr/bin/ruby", "", "ruby ruby-redis"},
};

struct Finished {
  int exit_code = -1;
  std::string output;
};

/// Runs a command of the shell.
Finished run(const std::string& command) {
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  Finished finished;
  char buffer[4'096];
  while (const std::size_t got = std::fread(buffer, 1, sizeof(buffer), pipe)) {
    finished.output.append(buffer, got);
  }
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) finished.exit_code = WEXITSTATUS(status);
  return finished;
}

class ClientsTest : public ::testing::TestWithParam<ClientProgram> {
 protected:
  /// Returns the output of the program, which must succeed within a minute. A client's errors may name
  /// the socket.
  static std::string output_on(const std::string& socket) {
    const ClientProgram& program = GetParam();
    const std::string folder = RUSHGATE_CLIENTS;
    const std::string command = std::string("timeout 60 ") + program.interpreter + ' ' +
                                program.flags + ' ' + folder + '/' + program.file + ' ' + socket;
    const TemporaryDirectory scratch;
    const std::string errors = (scratch.path() / "errors").string();
    const Finished done = run(command + " 2>" + errors);
    EXPECT_EQ(done.exit_code, 0) << command << "\n(needs the packages " << program.packages
                                 << ", which ./dev test installs)\n"
                                 << done.output << run("cat " + errors).output;
    return absl::StrReplaceAll(done.output, {{socket, "<socket>"}});
  }
};

TEST_P(ClientsTest, OutputEqualsRedis) {
  ASSERT_EQ(::access(GetParam().interpreter, X_OK), 0)
      << GetParam().interpreter << " is missing: install " << GetParam().packages
      << ", or run ./dev test, which does";
  const TemporaryDirectory directory{TemporaryDirectory::Where::kInTmp};
  const std::string socket = (directory.path() / "socket").string();
  Program ours({"serve", "--port", "0", "--unixsocket", socket});
  ASSERT_TRUE(ours.wait_for_error_text("serving on"));
  const RedisServer redis;
  const std::string expected = output_on(redis.socket_path());
  EXPECT_NE(expected, "");
  EXPECT_EQ(output_on(socket), expected);
}

std::string name_of(const ::testing::TestParamInfo<ClientProgram>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Programs, ClientsTest, ::testing::ValuesIn(kPrograms), name_of);

}  // namespace
}  // namespace rushgate::testing
