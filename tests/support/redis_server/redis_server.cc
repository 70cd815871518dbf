#include "tests/support/redis_server/redis_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>
#include <utility>

#include "tests/support/faults/noted_syncs/noted_syncs.h"
#include "tests/support/redis_server/raw_connection.h"
#include "tests/support/stop_process.h"
#include <rushgate/clock.h>

namespace rushgate::testing {
namespace {

/// Runs in the child: only functions that are safe between fork and exec of a threaded program.
[[noreturn]] void become(char* const* arguments, char* const* environment, const char* log,
                         pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // the parent died before prctl
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

/// Returns pointers for execve().
std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

int find_free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof(address);
  const bool found = ::bind(socket, reinterpret_cast<sockaddr*>(&address), bytes) == 0 &&
                     ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &bytes) == 0;
  ::close(socket);
  if (!found) throw std::runtime_error("there is no free port");
  return ntohs(address.sin_port);
}

RedisServer::RedisServer(RedisServerOptions options)
    : options_(std::move(options)), port_(options_.listens_on_tcp ? find_free_port() : 0) {
  if (options_.manual_clock) set_now_ms(ManualClock::kStartMs);
  if (!options_.sentinel.empty()) write_sentinel_configuration();
  start();
}

RedisServer::~RedisServer() { kill(); }

void RedisServer::set_now_ms(std::int64_t now_ms) {
  // Not truncated: the server maps this file.
  const int fd = ::open(clock_path().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const ::ssize_t written = ::write(fd, &now_ms, sizeof(now_ms));
  ::close(fd);
  if (written != sizeof(now_ms)) throw std::runtime_error("the clock cannot be written");
}

void RedisServer::flush_all() {
  const Reply reply = ask(Request::of("FLUSHALL"));
  if (reply != Reply::ok()) throw std::runtime_error("FLUSHALL: " + to_debug_string(reply));
}

void RedisServer::clear() {
  RawConnection connection(socket_path());
  for (const Request& request :
       {Request::of("FLUSHALL"), Request::of("SCRIPT", "FLUSH"), Request::of("FUNCTION", "FLUSH"),
        Request::of("CONFIG", "RESETSTAT")}) {
    const Reply reply = connection.call(request);
    if (reply != Reply::ok()) throw std::runtime_error("clearing: " + to_debug_string(reply));
  }
}

void RedisServer::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

Reply RedisServer::ask(const Request& request) const {
  return RawConnection(socket_path()).call(request);
}

void RedisServer::pause() { stop_process(pid_); }

void RedisServer::resume() { ::kill(pid_, SIGCONT); }

void RedisServer::cut_power() {
  kill();
  lose_unsynced(directory_.path(), syncs_path(), {clock_path(), log_path()});
}

std::uintmax_t RedisServer::cut_append_only_file(std::uintmax_t bytes) {
  kill();
  for (const auto& file :
       std::filesystem::directory_iterator(directory_.path() / "appendonlydir")) {
    if (!file.path().string().ends_with(".incr.aof")) continue;
    const std::uintmax_t cut = std::min(bytes, file.file_size());
    std::filesystem::resize_file(file.path(), file.file_size() - cut);
    return cut;
  }
  throw std::runtime_error("there is no append-only file");
}

void RedisServer::replicate(const RedisServer& primary) {
  // After a diskless synchronisation, WAIT counts a replica only from its next acknowledgement on,
  // which takes up to a second.
  const Reply set = primary.ask(Request::of("CONFIG", "SET", "repl-diskless-sync", "no"));
  if (set != Reply::ok()) throw std::runtime_error("CONFIG SET: " + to_debug_string(set));
  const Reply reply = ask(Request::of("REPLICAOF", "127.0.0.1", primary.port_));
  if (reply != Reply::ok()) throw std::runtime_error("REPLICAOF: " + to_debug_string(reply));
  const auto offset_of = [](const RedisServer& server, std::string_view field) {
    const std::string text(server.ask(Request::of("INFO", "replication")).text());
    const std::size_t at = text.find(field);
    return at == std::string::npos ? -1 : std::stoll(text.substr(at + field.size()));
  };
  const std::int64_t wanted = offset_of(primary, "master_repl_offset:");
  wait_until("it does not replicate", [&] {
    return std::string(ask(Request::of("INFO", "replication")).text())
                   .find("master_link_status:up") != std::string::npos &&
           offset_of(*this, "slave_repl_offset:") >= wanted;
  });
}

void RedisServer::promote() {
  const Reply reply = ask(Request::of("REPLICAOF", "NO", "ONE"));
  if (reply != Reply::ok()) throw std::runtime_error("REPLICAOF: " + to_debug_string(reply));
}

void RedisServer::take_over_address_of(RedisServer& other) {
  other.kill();
  std::filesystem::create_symlink(socket_path(), other.socket_path() + ".new");
  std::filesystem::rename(other.socket_path() + ".new", other.socket_path());
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
  // A killed server leaves its socket. Connections to it are refused, which is harmless.
  std::vector<std::string> words = command_line();
  std::vector<std::string> variables = environment();
  const std::vector<char*> arguments = pointers_to(words);
  const std::vector<char*> environment = pointers_to(variables);
  const std::string log = log_path().string();
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
  if (pid_ == 0) become(arguments.data(), environment.data(), log.c_str(), parent);
  wait_until_it_replies(until);
}

/// A sentinel keeps its state in this file.
void RedisServer::write_sentinel_configuration() const {
  std::ofstream out(sentinel_path());
  out << "port " << port_ << "\nbind 127.0.0.1\nunixsocket " << socket_path() << "\ndir "
      << directory_.path().string() << '\n'
      << options_.sentinel;
  if (!out.flush()) throw std::runtime_error("cannot write " + sentinel_path().string());
}

std::vector<std::string> RedisServer::command_line() const {
  if (!options_.sentinel.empty()) return {"redis-server", sentinel_path().string(), "--sentinel"};
  std::vector<std::string> words = {
      "redis-server",
      // clang-format off
      "--port", std::to_string(port_),
      "--unixsocket", socket_path(),
      "--dir", directory_.path().string(),
      "--save", "",
      "--appendonly", options_.append_only ? "yes" : "no",
      "--appendfsync", "no",  // the page cache outlives the process
      "--daemonize", "no",
      "--repl-diskless-sync-delay", "0",
      // clang-format on
  };
  // This thread waits until a time of day. If that never comes, it would use up a processor.
  if (options_.manual_clock) words.insert(words.end(), {"--jemalloc-bg-thread", "no"});
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
    if (options_.is_random) variables.emplace_back("RUSHGATE_RANDOM=1");
  }
  if (options_.can_lose_power) {
    const auto noting = noting_environment(syncs_path());
    variables.insert(variables.end(), noting.begin(), noting.end());
  }
  return variables;
}

void RedisServer::wait_until_it_replies(Until until) {
  wait_until("it does not answer", [&] {
    // Any reply will do, for example a request for a password, except that it is not ready.
    const Reply answer = ask(Request::of("PING"));
    return until == Until::kAnswers || answer.error_code() != "LOADING";
  });
}

void RedisServer::wait_until(std::string why, absl::FunctionRef<bool()> is_done) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + options_.patience;
  while (Clock::now() < deadline) {
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      throw std::runtime_error("redis-server has ended:\n" + log());
    }
    try {
      if (is_done()) return;
    } catch (const std::runtime_error& error) {
      why = error.what();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  kill();
  throw std::runtime_error("redis-server: " + why + "\n" + log());
}

std::string RedisServer::log() const {
  std::ifstream in(log_path());
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace rushgate::testing
