// A random rush from a seed: the requests, their users, vouchers and times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rushgate::testing {

/// A voucher in a rush.
struct RushVoucher {
  std::int64_t id = 1;
  std::int64_t stock = 10;
  std::int64_t per_user = 1;  // orders per user; 0: unlimited
  std::int64_t share = 1;     // of the requests, relative to the shares of other vouchers

  /// The voucher begins this long after the rush; below RushOptions::span_ms. One in five of its
  /// requests is too early.
  std::int64_t begin_ms = 0;

  friend bool operator==(const RushVoucher&, const RushVoucher&) = default;
};

struct RushOptions {
  std::uint64_t seed = 1;
  std::int64_t span_ms = 1'000;  // length of the rush; requests become fewer and fewer

  std::int64_t buyers = 200;        // users 1 to `buyers`, each at least once
  std::size_t requests = 1'000;     // in total; those beyond buyers and robots are repeats
  std::int64_t robots = 2;          // users 1 to `robots` repeat requests for one voucher
  std::size_t robot_requests = 50;  // per robot, in addition to its requests as a buyer
  std::int64_t robot_gap_ms = 2;

  std::vector<RushVoucher> vouchers = {{}};
};

struct RushRequest {
  std::size_t number = 0;  // in the rush, from 0; identifies the request
  std::int64_t at_ms = 0;  // since the start of the rush
  std::int64_t user = 0;
  std::int64_t voucher = 0;

  friend bool operator==(const RushRequest&, const RushRequest&) = default;
};

/// Returns the requests in order of at_ms. Equal options give equal requests on every machine.
/// Throws std::invalid_argument if the options are invalid, contradict each other, or ask for more
/// than 100 million requests, 24 days or 10^12 vouchers.
std::vector<RushRequest> make_rush(const RushOptions& options);
/// Throws the same exceptions as make_rush().
void check_rush(const RushOptions& options);

}  // namespace rushgate::testing
