#include "tests/support/database_server/server_process.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "tests/support/stop_process.h"

namespace rushgate::testing {
namespace {

namespace fs = std::filesystem;

/// The user to run as: a database server does not run as root.
struct Account {
  uid_t uid;
  gid_t gid;
};
std::optional<Account> find_account() {
  if (::geteuid() != 0) return std::nullopt;
  const passwd* const user = ::getpwnam("nobody");
  if (user == nullptr) throw std::runtime_error("there is no user nobody");
  return Account{.uid = user->pw_uid, .gid = user->pw_gid};
}

/// Runs in the child: only functions that are safe between fork and exec of a threaded program.
[[noreturn]] void become_program(char* const* arguments, const char* log, pid_t parent,
                                 const std::optional<Account>& account) {
  if (account && (::setgid(account->gid) != 0 || ::setuid(account->uid) != 0)) ::_exit(126);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a change of the user clears it
  if (::getppid() != parent) ::_exit(127);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int out = ::open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  if (::chdir("/") != 0) ::_exit(125);
  ::execv(arguments[0], arguments);
  ::_exit(127);
}

/// Returns the processes whose parent is `pid`.
std::vector<pid_t> children_of(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children");
  return {std::istream_iterator<pid_t>(in), {}};
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns false for a zombie, too: nobody may wait for it.
bool is_running(pid_t pid) {
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = stat.rfind(") ");
  return name_end != std::string::npos && stat[name_end + 2] != 'Z';
}

}  // namespace

void own(const fs::path& path) {
  const auto account = find_account();
  if (account && ::chown(path.c_str(), account->uid, account->gid) != 0) {
    throw std::runtime_error("chown " + path.string());
  }
}

std::string database_in(const std::string& url) {
  const std::size_t begin = url.find("@/") + 2;
  return url.substr(begin, url.find('?') - begin);
}

ServerProcess::~ServerProcess() { kill(); }

void ServerProcess::start(std::vector<std::string> words) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const auto account = find_account();
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("fork failed");
  if (pid_ == 0) become_program(arguments.data(), log_.c_str(), parent, account);
}

void ServerProcess::run(std::vector<std::string> words) {
  const std::string name = words.front();
  start(std::move(words));
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (status != 0) throw std::runtime_error(name + " has failed:\n" + read_file(log_));
}

void ServerProcess::wait_until(absl::FunctionRef<bool()> is_ready) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < deadline) {
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      throw std::runtime_error("the server has ended:\n" + read_file(log_));
    }
    if (is_ready()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  kill();
  throw std::runtime_error("the server does not reply:\n" + read_file(log_));
}

// The children first: the server would notice one that does not reply.
void ServerProcess::pause() const {
  stop_process(pid_);
  for (const pid_t child : children_of(pid_)) stop_process(child);
}

void ServerProcess::resume() const {
  for (const pid_t child : children_of(pid_)) ::kill(child, SIGCONT);
  ::kill(pid_, SIGCONT);
}

// The server does not start again before its children have ended.
void ServerProcess::kill() {
  if (pid_ < 0) return;
  const std::vector<pid_t> children = children_of(pid_);
  ::kill(pid_, SIGKILL);
  for (const pid_t child : children) ::kill(child, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  for (const pid_t child : children) {
    while (is_running(child)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  pid_ = -1;
}

}  // namespace rushgate::testing
