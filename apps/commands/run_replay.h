// A whole replay, from its input files to its report. Used by `replay` and `demo`.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "apps/replay/report.h"
#include "apps/sale_at.h"

namespace rushgate {

struct ReplayArguments {
  std::filesystem::path requests;
  std::filesystem::path vouchers;
  SaleArguments sale;
  int threads = 2;
  std::size_t batch = 128;
  bool real_time = false;
  bool skip_bad = false;
  /// Called with the sale. What it returns lives as long as the sale.
  std::function<absl::StatusOr<std::shared_ptr<const void>>(FlashSale& sale)> accompany = {};
};

struct ReplayEnd {
  int exit_code = 0;
  std::optional<Report> report = {};  // empty if the replay did not begin
};
/// Runs the replay, or loads the report of a complete one.
ReplayEnd run_replay(const ReplayArguments& arguments);

/// Prints the table.
void print_report(const Report& report, bool json);

}  // namespace rushgate
