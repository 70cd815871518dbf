// The load of the comparisons by HTTP: wrk, of Debian's package of the same name.
#pragma once

#include <cstdint>

namespace rushgate::bench {

struct WrkLoad {
  int connections = 64;  // kept alive
  int pipeline = 1;      // requests that a connection sends at once
  int seconds = 5;
};

struct WrkResult {
  double rate = 0;            // replies per second
  double p99_us = 0;          // from the request to its reply; 0: wrk knows none of pipelines
  std::int64_t replies = 0;   // all of them
  std::int64_t refusals = 0;  // replies with a status of 400 or above
};

/// Buys vouchers on the server at a port of this machine: POST /v1/vouchers/<voucher>/orders, each
/// request for another user, from `first_user` on. Throws std::runtime_error if wrk cannot run, or
/// if a request had no reply.
WrkResult purchase_by_wrk(std::uint16_t port, std::int64_t voucher, std::int64_t first_user,
                          const WrkLoad& load);

}  // namespace rushgate::bench
