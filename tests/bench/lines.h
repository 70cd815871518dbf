// The lines of the benchmark. Each compares ours with a peer, alternately, in rounds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "tests/bench/report.h"

namespace rushgate::bench {

struct Effort {
  int rounds = 5;
  std::int64_t requests = 500'000;   // ours per round; the peer gets as many as take equally long
  std::int64_t buyers = 10'000'000;  // of the sustained and growing sales
  double idle_seconds = 60;          // duration of the idle measurement

  /// Returns the number of requests for finding the best load of the peer.
  [[nodiscard]] std::int64_t trial_requests() const {
    return std::min(std::int64_t{60'000}, requests / 4);
  }
};

struct Line {
  std::string_view name;
  void (*measure)(const Effort& effort, Report& report);
};

void measure_admissions(const Effort& effort, Report& report);
void measure_batches(const Effort& effort, Report& report);
void measure_lua(const Effort& effort, Report& report);
void measure_refusals(const Effort& effort, Report& report);
void measure_latency(const Effort& effort, Report& report);
void measure_memory(const Effort& effort, Report& report);
void measure_reopening(const Effort& effort, Report& report);
void measure_growth(const Effort& effort, Report& report);
void measure_footprint(const Effort& effort, Report& report);
void measure_orders(const Effort& effort, Report& report);
void measure_retention(const Effort& effort, Report& report);
void measure_stored(const Effort& effort, Report& report);
void measure_fibers(const Effort& effort, Report& report);
void measure_on_redis(const Effort& effort, Report& report);
void measure_resp(const Effort& effort, Report& report);
void measure_sale_commands(const Effort& effort, Report& report);
void measure_http(const Effort& effort, Report& report);
void measure_cluster(const Effort& effort, Report& report);
void measure_databases(const Effort& effort, Report& report);  // if there are both servers
void measure_unread(const Effort& effort, Report& report);

/// Returns the lines in the order of the report.
std::span<const Line> lines();

}  // namespace rushgate::bench
