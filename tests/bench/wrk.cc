#include "tests/bench/wrk.h"

#include <cstdio>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "tests/support/command_output.h"

namespace rushgate::bench {

WrkResult purchase_by_wrk(std::uint16_t port, std::int64_t voucher, std::int64_t first_user,
                          const WrkLoad& load) {
  const std::string output = testing::checked_output_of(
      fmt::format("wrk --threads 1 --connections {} --duration {}s --script '{}' "
                  "http://127.0.0.1:{}/v1/vouchers/{}/orders -- {} {}",
                  load.connections, load.seconds, RUSHGATE_WRK_SCRIPT, port, voucher, first_user,
                  load.pipeline));
  // The last line is that of the script.
  const auto line = output.rfind("purchases: ");
  WrkResult result;
  long long replies = 0;
  long long refusals = 0;
  long long lost = 0;
  double seconds = 0;
  if (line == std::string::npos ||
      std::sscanf(output.c_str() + line, "purchases: %lld %lf %lld %lld %lf", &replies, &seconds,
                  &refusals, &lost, &result.p99_us) != 5) {
    throw std::runtime_error("wrk printed: " + output);
  }
  if (lost != 0 || replies == 0) throw std::runtime_error("requests had no reply: " + output);
  if (load.pipeline > 1) result.p99_us = 0;
  result.rate = static_cast<double>(replies) / seconds;
  result.replies = replies;
  result.refusals = refusals;
  return result;
}

}  // namespace rushgate::bench
