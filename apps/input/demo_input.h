// The input of the demo: a rush on three vouchers, generated from a seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/voucher.h>

namespace rushgate {

struct DemoOptions {
  std::uint64_t seed = 1;
  std::size_t requests = 200'000;
  std::int64_t users = 50'000;
  std::int64_t seconds = 10;  // the length of the rush; requests become fewer and fewer

  friend bool operator==(const DemoOptions&, const DemoOptions&) = default;
};

/// Returns the requests as a CSV file. Each user appears at least once, many appear again, and a
/// few robots hammer. Equal options give an equal file on every machine. Requires users <=
/// requests, and robots <= users.
std::string demo_requests(const DemoOptions& options);

/// Returns vouchers with stocks of 1,000, 5,000 and 20. The third begins `late_ms` after now.
std::vector<Voucher> demo_vouchers(std::int64_t now_ms, std::int64_t late_ms);

struct DemoFiles {
  std::filesystem::path requests;
  std::filesystem::path vouchers;
  bool reused = false;
};

/// Writes both files into `dir` unless they exist. Returns kInvalidArgument if existing files were
/// generated from other options.
absl::StatusOr<DemoFiles> write_demo(const std::filesystem::path& dir, const DemoOptions& options,
                                     std::int64_t now_ms, std::int64_t late_ms);

}  // namespace rushgate
