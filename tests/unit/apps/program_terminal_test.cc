// Progress: a bar where stderr is a terminal, plain lines elsewhere.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/exit_code.h"
#include "tests/support/program.h"

namespace rushgate {
namespace {

using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kClearLine[] = "\r\033[K";

/// Two connected descriptors: bytes written to one are read from the other.
struct Ends {
  int read;
  int write;
};

Ends open_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  return {.read = ends[0], .write = ends[1]};
}

Ends open_terminal() {
  const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
    throw std::runtime_error("no terminal");
  return {.read = master, .write = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC)};
}

/// Replaces the child process by the program, or ends it.
[[noreturn]] void become(std::vector<std::string>& command, int stderr_end) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
  dup2(stderr_end, STDERR_FILENO);
  std::vector<char*> argv;
  for (std::string& argument : command) argv.push_back(argument.data());
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  _exit(127);
}

/// Runs the program with `ends` as its stderr. Returns the output.
std::string errors_of(std::vector<std::string> command, const Ends& ends) {
  command.insert(command.begin(), RUSHGATE_PROGRAM);
  const pid_t child = fork();
  if (child == 0) become(command, ends.write);
  close(ends.write);
  std::string text;
  char bytes[4'096];
  // Reading a terminal fails once the other end is closed.
  for (ssize_t size = 0; (size = read(ends.read, bytes, sizeof(bytes))) > 0;)
    text.append(bytes, static_cast<std::size_t>(size));
  close(ends.read);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == kExitOk) << text;
  return text;
}

/// Replays `rows` requests, one per ms in real time, with `ends` as stderr. Returns the output.
std::string progress_of_replay(int rows, const Ends& ends) {
  const SaleFiles files;
  files.write_vouchers({rows});
  std::string requests;
  for (int i = 0; i < rows; ++i) {
    requests += std::to_string(i) + "," + std::to_string(i) + ",1\n";
  }
  files.write_requests(requests);
  return errors_of(files.replay({"--real-time"}), ends);
}

TEST(ProgressProgramTest, TerminalShowsAndRemovesProgressBar) {
  const std::string text = progress_of_replay(200, open_terminal());
  EXPECT_THAT(text, ContainsRegex("\r\033\\[K\\[[#-]+\\] +[0-9]+%"));
  EXPECT_THAT(text, EndsWith(kClearLine));
}

TEST(ProgressProgramTest, PipeGetsLinesWithoutControlCharacters) {
  const std::string text = progress_of_replay(1'500, open_pipe());  // one line per second
  EXPECT_THAT(text, ContainsRegex("[0-9]+%  [0-9,]+ of 1,500 requests, .* stored\n"));
  EXPECT_THAT(text, Not(HasSubstr("\033")));
  EXPECT_THAT(text, Not(HasSubstr("\r")));
}

TEST(ProgressProgramTest, StrategiesDrawBarOnTerminal) {
  const std::string text =
      errors_of({"strategies", "--users", "20", "--stock", "10", "--threads", "2", "--only", "c"},
                open_terminal());
  EXPECT_THAT(text, ContainsRegex("\r\033\\[K\\[[#-]+\\] +[0-9]+%  [0-9]+ of [0-9]+ clicks; c: "));
  EXPECT_THAT(text, EndsWith(kClearLine));
}

}  // namespace
}  // namespace rushgate
