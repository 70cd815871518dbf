// A real redis-server for one test.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/reply.h>
#include <rushgate/request.h>

namespace rushgate::testing {

struct RedisServerOptions {
  bool append_only = false;                 // keep the data over restart() and kill()
  std::vector<std::string> arguments = {};  // also passed to redis-server: {"--requirepass", "x"}
  bool can_lose_power = false;        // note its syncs for cut_power(); not with a manual clock
  bool listens_on_tcp = false;        // also listen on 127.0.0.1, for a replica
  std::chrono::seconds patience{20};  // until the first reply
  std::string sentinel = {};          // makes it a sentinel with these lines of configuration
  bool manual_clock = false;          // starts at ManualClock::kStartMs, moved by set_now_ms()
  bool is_random = false;             // with a manual clock: has other random numbers than others
  TemporaryDirectory::Where where = TemporaryDirectory::Where::kShort;
};

/// Returns a port of 127.0.0.1 that nobody listens on.
int find_free_port();

/// Runs redis-server (from PATH) on a unix socket in its own directory. Both end with this object,
/// and the server also ends with the thread that created it. Not thread-safe. Throws
/// std::runtime_error with the server's log if it does not start.
class RedisServer {
 public:
  /// Returns when the server replies.
  explicit RedisServer(RedisServerOptions options = {});
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  [[nodiscard]] std::string socket_path() const {
    return (directory_.path() / "redis.sock").string();
  }
  /// Returns unix://…, which RedisOptions::from_url() accepts.
  [[nodiscard]] std::string url() const { return "unix://" + socket_path(); }
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Returns the port on 127.0.0.1; 0 if it does not listen there.
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] bool is_running() const { return pid_ >= 0; }

  /// Sets the time of day of a manual clock.
  void set_now_ms(std::int64_t now_ms);

  /// Deletes all keys. The server must have no password.
  void flush_all();
  /// Deletes all keys, scripts, functions and statistics.
  void clear();

  /// Stops the server between two instructions (SIGSTOP). Connections stay open without replies.
  void pause();
  void resume();

  /// Kills the server (SIGKILL). Returns when it has ended. Does nothing if it has.
  void kill();

  /// Calls kill(), then removes the bytes that were appended to its files after their last fsync.
  /// In-place writes and names stay: redis-server only appends and renames.
  void cut_power();

  /// Calls kill(), then removes up to `bytes` from the end of its append-only file. Returns how
  /// many.
  std::uintmax_t cut_append_only_file(std::uintmax_t bytes);

  /// Makes this server a replica of `primary`, which must listen on TCP. Returns when it has all
  /// current data of the primary.
  void replicate(const RedisServer& primary);
  /// Makes this server a primary with its current data.
  void promote();
  /// Calls kill() on `other` and continues under its address.
  void take_over_address_of(RedisServer& other);

  /// Starts the server again in the same directory. Calls kill() first if it is running.
  void restart();
  /// Same as restart(), but returns at the first reply, while data may still be loading.
  void restart_loading();

 private:
  enum class Until : std::uint8_t { kLoaded, kAnswers };

  void start(Until until = Until::kLoaded);
  void write_sentinel_configuration() const;
  [[nodiscard]] std::vector<std::string> command_line() const;
  [[nodiscard]] std::vector<std::string> environment() const;
  [[nodiscard]] std::filesystem::path sentinel_path() const {
    return directory_.path() / "sentinel.conf";
  }
  [[nodiscard]] std::filesystem::path clock_path() const { return directory_.path() / "clock"; }
  void wait_until_it_replies(Until until);
  void wait_until(std::string why, absl::FunctionRef<bool()> is_done);
  [[nodiscard]] std::string log() const;
  [[nodiscard]] std::filesystem::path log_path() const { return directory_.path() / "redis.log"; }
  [[nodiscard]] std::filesystem::path syncs_path() const { return directory_.path() / "syncs"; }
  [[nodiscard]] Reply ask(const Request& request) const;

  const RedisServerOptions options_;
  const int port_;  // 0: none
  const TemporaryDirectory directory_{options_.where};
  pid_t pid_ = -1;  // -1: not running
};

}  // namespace rushgate::testing
