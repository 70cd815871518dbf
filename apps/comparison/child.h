// A child process of the comparison: this program itself.
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/functional/function_ref.h"
#include "apps/comparison/job.h"

namespace rushgate::comparison {

/// The option that makes the program a child: see run_job.h.
inline constexpr char kChildOption[] = "--child";

/// It ends, by SIGKILL, with this object at the latest. Throws std::system_error if there can be
/// none.
class Child {
 public:
  explicit Child(const Job& job);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Lets it begin to sell.
  void begin() { write_line("begin"); }
  void kill() const;

  /// Readable when there is output, or its end.
  [[nodiscard]] int output() const { return output_; }
  /// Waits for output and gives it to `handle` by lines. Returns false at its end.
  bool read(absl::FunctionRef<void(const std::string& line)> handle);
  /// Waits until it has ended. Returns true if it ended with success.
  bool wait();

 private:
  void write_line(std::string line) const;

  pid_t pid_ = -1;  // -1: it was waited for
  int input_ = -1;
  int output_ = -1;
  std::string unfinished_;  // the beginning of a line
};

}  // namespace rushgate::comparison
