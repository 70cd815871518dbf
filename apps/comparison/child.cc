#include "apps/comparison/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace rushgate::comparison {
namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

struct Pipe {
  int read = -1;
  int write = -1;
};

Pipe open_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail("pipe");
  return {.read = ends[0], .write = ends[1]};
}

/// Replaces the child process by the program, or ends it. The child inherits stderr.
[[noreturn]] void become(int input, int output) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  constexpr const char* kProgram = "/proc/self/exe";
  execl(kProgram, "rushgate", "strategies", kChildOption, nullptr);
  _exit(127);
}

}  // namespace

Child::Child(const Job& job) {
  const Pipe to_child = open_pipe();
  const Pipe from_child = open_pipe();
  pid_ = fork();
  if (pid_ == 0) become(to_child.read, from_child.write);
  close(to_child.read);
  close(from_child.write);
  input_ = to_child.write;
  output_ = from_child.read;
  if (pid_ < 0) fail("fork");
  write_line(job.line());
}

Child::~Child() {
  if (pid_ >= 0) {
    kill();
    wait();
  }
  close(input_);
  close(output_);
}

void Child::write_line(std::string line) const {
  line += '\n';
  // wait() reports a child that has ended already.
  [[maybe_unused]] const ssize_t written = ::write(input_, line.data(), line.size());
}

void Child::kill() const { ::kill(pid_, SIGKILL); }

bool Child::read(absl::FunctionRef<void(const std::string& line)> handle) {
  char bytes[65'536];
  ssize_t size = 0;
  do {
    size = ::read(output_, bytes, sizeof bytes);
  } while (size < 0 && errno == EINTR);
  if (size <= 0) return false;
  unfinished_.append(bytes, static_cast<std::size_t>(size));
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = unfinished_.find('\n', begin)) != std::string::npos;) {
    handle(unfinished_.substr(begin, end - begin));
    begin = end + 1;
  }
  unfinished_.erase(0, begin);
  return true;
}

std::string Child::wait() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  pid_ = -1;
  if (WIFSIGNALED(status)) return fmt::format("signal {}", WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? "" : fmt::format("exit code {}", WEXITSTATUS(status));
}

}  // namespace rushgate::comparison
