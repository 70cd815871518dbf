// A database server as a child process, as an unprivileged user.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"

namespace rushgate::testing {

/// Gives a file or directory to the user of the servers. Does nothing if that is the user of the test.
void own(const std::filesystem::path& path);

/// Returns the name of the database in a server's URL.
std::string database_in(const std::string& url);

/// Ends with this object, and with the thread that started it. Not thread-safe. Errors are
/// std::runtime_error with the log.
class ServerProcess {
 public:
  /// The program's output goes to `log`, in a directory that the user owns.
  explicit ServerProcess(std::filesystem::path log) : log_(std::move(log)) {}
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  /// Starts a program by its path and arguments.
  void start(std::vector<std::string> words);
  /// Runs another program to its end.
  void run(std::vector<std::string> words);
  void wait_until(absl::FunctionRef<bool()> is_ready);
  /// Stops the process and its children between two instructions (SIGSTOP).
  void pause() const;
  void resume() const;
  /// Kills the process and its children (SIGKILL). Does nothing if it has ended.
  void kill();

 private:
  const std::filesystem::path log_;
  pid_t pid_ = -1;  // -1: not running
};

}  // namespace rushgate::testing
