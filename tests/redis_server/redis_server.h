// A real redis-server for the length of a test.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "engine/client/reply.h"
#include "engine/client/request.h"
#include "tests/temporary_directory.h"

namespace rushgate::testing {

struct RedisServerOptions {
  bool append_only = false;                 // keep the data over restart() and kill()
  std::vector<std::string> arguments = {};  // more of redis-server's own: {"--requirepass", "x"}
  bool can_lose_power = false;  // note what is synced, for cut_power(); not with a manual clock
  bool listens_on_tcp = false;  // on 127.0.0.1 too, so that another server can replicate it
  std::chrono::seconds patience{20};  // until it answers
  bool manual_clock = false;          // its time of day stands still at set_now_ms(), at first at
                                      // ManualClock::kStartMs
};

/// Runs redis-server (from PATH) on a unix socket in a directory of its own; both end with this
/// object, and the server also with the thread that made it. Not thread-safe. Throws
/// std::runtime_error, with the server's log, if it does not start.
class RedisServer {
 public:
  /// Returns when the server answers.
  explicit RedisServer(RedisServerOptions options = {});
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  [[nodiscard]] std::string socket_path() const {
    return (directory_.path() / "redis.sock").string();
  }
  /// unix://…, as RedisOptions::from_url() takes it.
  [[nodiscard]] std::string url() const { return "unix://" + socket_path(); }
  [[nodiscard]] pid_t pid() const { return pid_; }

  /// With a manual clock: sets the time of day.
  void set_now_ms(std::int64_t now_ms);

  /// Not for a server with a password.
  void flush_all();

  /// Stops it between two instructions (SIGSTOP): connections stay open, and nothing answers.
  void pause();
  void resume();

  /// Ends it without warning (SIGKILL); returns when it is gone. Harmless if it already is.
  void kill();

  /// kill()s it, and removes from its files what was appended since their last fsync. What was
  /// overwritten in place stays, as do names: redis-server appends and renames.
  void cut_power();

  /// kill()s it, and removes up to `bytes` from the end of its append-only file. Returns how many.
  std::uintmax_t cut_append_only_file(std::uintmax_t bytes);

  /// Makes it a replica of `primary`, which listens on TCP, and returns when it has all that the
  /// primary has now.
  void replicate(const RedisServer& primary);
  /// Makes it a primary, with what it has.
  void promote();
  /// Answers under the address of `other` from now on, which is kill()ed.
  void take_over_address_of(RedisServer& other);

  /// Starts it again, in the same directory; kill()s it first if it runs.
  void restart();
  /// As restart(), but returns when it answers, though it may still load its data.
  void restart_loading();

 private:
  enum class Until : std::uint8_t { kLoaded, kAnswers };

  void start(Until until = Until::kLoaded);
  [[nodiscard]] std::vector<std::string> command_line() const;
  [[nodiscard]] std::vector<std::string> environment() const;
  [[nodiscard]] std::filesystem::path clock_path() const { return directory_.path() / "clock"; }
  void wait_until_it_answers(Until until);
  void wait_until(std::string why, absl::FunctionRef<bool()> is_done);
  [[nodiscard]] std::string log() const;
  [[nodiscard]] std::filesystem::path log_path() const { return directory_.path() / "redis.log"; }
  [[nodiscard]] std::filesystem::path syncs_path() const { return directory_.path() / "syncs"; }
  [[nodiscard]] Reply ask(const Request& request) const;

  const RedisServerOptions options_;
  const int port_;  // 0: none
  const TemporaryDirectory directory_{TemporaryDirectory::Where::kInTmp};
  pid_t pid_ = -1;  // -1: not running
};

}  // namespace rushgate::testing
