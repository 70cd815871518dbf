#include "tests/bench/redis_benchmark.h"

#include <cstdlib>
#include <stdexcept>

#include <fmt/format.h>

#include "tests/support/command_output.h"

namespace rushgate::bench {

double rate_by_redis_benchmark(const std::string& socket_path, const BenchmarkLoad& load,
                               std::int64_t count, const std::string& command) {
  const std::string output = testing::checked_output_of(
      fmt::format("redis-benchmark -s {} -c {} -P {} -n {} -r {} --csv {} 2>/dev/null", socket_path,
                  load.connections, load.pipeline, count, load.random_below, command));
  // "test","rps",...\n"EVALSHA ...","123456.78",...
  const auto row = output.find("\n\"");
  const auto field = row == std::string::npos ? row : output.find("\",\"", row);
  if (field == std::string::npos) throw std::runtime_error("redis-benchmark printed: " + output);
  return std::strtod(output.c_str() + field + 3, nullptr);
}

}  // namespace rushgate::bench
