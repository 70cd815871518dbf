// The output of another program.
#pragma once

#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace rushgate::testing {

/// Runs a command by the shell. Returns what it wrote to stdout and stderr, and sets `status` to its
/// exit code, 0 if it succeeded.
inline std::string output_of(const std::string& command, int* status = nullptr) {
  std::FILE* const pipe = ::popen(("exec 2>&1\n" + command).c_str(), "r");
  std::string output;
  char buffer[4'096];
  while (const std::size_t got = std::fread(buffer, 1, sizeof(buffer), pipe)) {
    output.append(buffer, got);
  }
  const int closed = ::pclose(pipe);
  if (status != nullptr) *status = closed;
  return output;
}

/// The same for a command that must succeed. Throws std::runtime_error with its output otherwise.
inline std::string checked_output_of(const std::string& command) {
  int status = 0;
  std::string output = output_of(command, &status);
  if (status != 0) throw std::runtime_error(command + " failed: " + output);
  return output;
}

}  // namespace rushgate::testing
