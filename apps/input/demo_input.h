// The demo's input: a rush on three vouchers, made up from a seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/sale/vouchers/voucher.h"

namespace rushgate {

struct DemoOptions {
  std::uint64_t seed = 1;
  std::size_t requests = 200'000;
  std::int64_t users = 50'000;
  std::int64_t seconds = 10;  // over which the requests come, fewer and fewer of them

  friend bool operator==(const DemoOptions&, const DemoOptions&) = default;
};

/// The requests as a CSV file: every user at least once, many again, and a few robots that hammer.
/// The same text for the same options, everywhere. There must be at least as many requests as
/// users, and users as robots.
std::string demo_requests(const DemoOptions& options);

/// Stocks of 1,000, 5,000 and 20; the third begins `late_ms` after now.
std::vector<Voucher> demo_vouchers(std::int64_t now_ms, std::int64_t late_ms);

struct DemoFiles {
  std::filesystem::path requests;
  std::filesystem::path vouchers;
  bool reused = false;
};

/// Writes both files into `dir`, unless they are there already. kInvalidArgument: they are, and
/// were made from other options.
absl::StatusOr<DemoFiles> write_demo(const std::filesystem::path& dir, const DemoOptions& options,
                                     std::int64_t now_ms, std::int64_t late_ms);

}  // namespace rushgate
