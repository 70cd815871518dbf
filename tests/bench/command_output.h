// Runs other programs that measure.
#pragma once

#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace rushgate::bench {

/// Returns what a command of the shell prints. Throws std::runtime_error if it fails.
inline std::string output_of(const std::string& command) {
  FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  std::string output;
  std::array<char, 4096> buffer;
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    output.append(buffer.data(), got);
  }
  if (::pclose(pipe) != 0) throw std::runtime_error(command + " failed: " + output);
  return output;
}

}  // namespace rushgate::bench
