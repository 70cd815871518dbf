#include "tests/bench/redis_benchmark.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include <fmt/format.h>

namespace rushgate::bench {
namespace {

std::string output_of(const std::string& command) {
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

}  // namespace

double rate_by_redis_benchmark(const std::string& socket_path, const BenchmarkLoad& load,
                               std::int64_t count, const std::string& command) {
  const std::string output = output_of(
      fmt::format("redis-benchmark -s {} -c {} -P {} -n {} -r {} --csv {} 2>/dev/null", socket_path,
                  load.connections, load.pipeline, count, load.random_below, command));
  // "test","rps",...\n"EVALSHA ...","123456.78",...
  const auto row = output.find("\n\"");
  const auto field = row == std::string::npos ? row : output.find("\",\"", row);
  if (field == std::string::npos) throw std::runtime_error("redis-benchmark printed: " + output);
  return std::strtod(output.c_str() + field + 3, nullptr);
}

}  // namespace rushgate::bench
