// The output of another program.
#pragma once

#include <cstddef>
#include <cstdio>
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

}  // namespace rushgate::testing
