// A child process of the comparison, running this same program.
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/functional/function_ref.h"
#include "apps/comparison/job.h"

namespace rushgate::comparison {

/// The option that makes the program a child: see run_job.h.
inline constexpr char kChildOption[] = "--child";

/// A running child. The destructor ends it by SIGKILL. Throws std::system_error if it cannot be
/// started.
class Child {
 public:
  explicit Child(const Job& job);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Lets the child begin to sell.
  void begin() { write_line("begin"); }
  void kill() const;

  /// Returns a descriptor that is readable when there is output, or at its end.
  [[nodiscard]] int output() const { return output_; }
  /// Waits for output and passes it to `handle` line by line. Returns false at its end.
  bool read(absl::FunctionRef<void(const std::string& line)> handle);
  /// Waits until the child has ended. Returns how, if that was not with success; otherwise nothing.
  std::string wait();

 private:
  void write_line(std::string line) const;

  pid_t pid_ = -1;  // -1: waited for already
  int input_ = -1;
  int output_ = -1;
  std::string unfinished_;  // the beginning of an incomplete line
};

}  // namespace rushgate::comparison
