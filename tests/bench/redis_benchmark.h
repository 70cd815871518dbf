// Puts load on a socket by redis-benchmark, for any server that listens there.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace rushgate::bench {

struct BenchmarkLoad {
  int connections = 50;
  int pipeline = 1;
  /// The bound of __rand_int__. redis-benchmark takes a bound above this default as 0, and then
  /// always uses the same number.
  std::int64_t random_below = std::numeric_limits<int>::max();
};

/// Returns requests per second over `count` of them. `command` has words for a shell, with
/// __rand_int__ in place of numbers. Throws std::runtime_error if the program fails.
double rate_by_redis_benchmark(const std::string& socket_path, const BenchmarkLoad& load,
                               std::int64_t count, const std::string& command);

}  // namespace rushgate::bench
