#include "tests/redis_server/redis_server.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>
#include <utility>

#include "engine/time/manual_clock.h"
#include "tests/redis_server/raw_connection.h"

namespace rushgate::testing {
namespace {

/// In the child: only what may be called between fork and exec of a threaded program.
[[noreturn]] void become(char* const* arguments, char* const* environment, const char* log,
                         pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it died before prctl
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int out = ::open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  ::execvpe(arguments[0], arguments, environment);
  constexpr char kMessage[] = "cannot run redis-server: is it installed?\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
  ::_exit(127);
}

/// For execve().
std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

RedisServer::RedisServer(RedisServerOptions options) : options_(std::move(options)) {
  if (options_.manual_clock) set_now_ms(ManualClock::kStartMs);
  start();
}

RedisServer::~RedisServer() { kill(); }

void RedisServer::set_now_ms(std::int64_t now_ms) {
  // Not truncated: the server has it mapped.
  const int fd = ::open(clock_path().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const ::ssize_t written = ::write(fd, &now_ms, sizeof(now_ms));
  ::close(fd);
  if (written != sizeof(now_ms)) throw std::runtime_error("the clock cannot be written");
}

void RedisServer::flush_all() {
  const Reply reply = RawConnection(socket_path()).call(Request::of("FLUSHALL"));
  if (reply != Reply::ok()) throw std::runtime_error("FLUSHALL: " + to_debug_string(reply));
}

void RedisServer::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

void RedisServer::restart() {
  kill();
  start();
}

void RedisServer::restart_loading() {
  kill();
  start(Until::kAnswers);
}

void RedisServer::start(Until until) {
  // A killed server leaves its socket behind, and a connection to that is refused: harmless.
  std::vector<std::string> words = command_line();
  std::vector<std::string> variables = environment();
  const std::vector<char*> arguments = pointers_to(words);
  const std::vector<char*> environment = pointers_to(variables);
  const std::string log_path = (directory_.path() / "redis.log").string();
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
  if (pid_ == 0) become(arguments.data(), environment.data(), log_path.c_str(), parent);
  wait_until_it_answers(until);
}

std::vector<std::string> RedisServer::command_line() const {
  std::vector<std::string> words = {
      "redis-server",
      // clang-format off
      "--port", "0",
      "--unixsocket", socket_path(),
      "--dir", directory_.path().string(),
      "--save", "",
      "--appendonly", options_.append_only ? "yes" : "no",
      "--appendfsync", "no",  // it outlives the process, and no test pulls the plug
      "--daemonize", "no",
      // clang-format on
  };
  words.insert(words.end(), options_.arguments.begin(), options_.arguments.end());
  return words;
}

std::vector<std::string> RedisServer::environment() const {
  std::vector<std::string> variables;
  for (char** variable = ::environ; *variable != nullptr; ++variable) {
    variables.emplace_back(*variable);
  }
  if (options_.manual_clock) {
    variables.emplace_back("LD_PRELOAD=" RUSHGATE_MOVED_CLOCK);
    variables.push_back("RUSHGATE_CLOCK=" + clock_path().string());
  }
  return variables;
}

void RedisServer::wait_until_it_answers(Until until) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + options_.patience;
  std::string why = "it does not answer";
  while (Clock::now() < deadline) {
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      throw std::runtime_error("redis-server did not start:\n" + log());
    }
    try {
      // Any answer will do (a password may be wanted), except that it is not ready.
      const Reply answer = RawConnection(socket_path()).call(Request::of("PING"));
      if (until == Until::kAnswers || answer.error_code() != "LOADING") return;
    } catch (const std::runtime_error& error) {
      why = error.what();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  kill();
  throw std::runtime_error("redis-server: " + why + "\n" + log());
}

std::string RedisServer::log() const {
  std::ifstream in(directory_.path() / "redis.log");
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace rushgate::testing
