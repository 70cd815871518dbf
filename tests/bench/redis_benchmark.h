// Load on a socket by redis-benchmark, for whichever server listens there.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace rushgate::bench {

struct BenchmarkLoad {
  int connections = 50;
  int pipeline = 1;
  /// __rand_int__ is below it. (redis-benchmark takes a larger one for 0: always one number.)
  std::int64_t random_below = std::numeric_limits<int>::max();
};

/// Requests answered a second, over `count` of them. `command`: words for a shell, with
/// __rand_int__ where numbers are to stand. Throws std::runtime_error if it does not run to its
/// end.
double rate_by_redis_benchmark(const std::string& socket_path, const BenchmarkLoad& load,
                               std::int64_t count, const std::string& command);

}  // namespace rushgate::bench
