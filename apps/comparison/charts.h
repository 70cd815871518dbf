// Charts (SVG) of a comparison's results.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/comparison/comparison.h"

namespace rushgate::comparison {

/// Returns a bar for the rate of each strategy. Unsafe strategies have another colour.
std::string rate_chart(const std::vector<StrategyResult>& results);

/// Returns a bar for each fault that each strategy had.
std::string fault_chart(const ComparisonOptions& options,
                        const std::vector<StrategyResult>& results);

/// Writes `rates.svg` and `faults.svg` into `dir`. Creates `dir` if necessary.
absl::Status write_charts(const std::filesystem::path& dir, const ComparisonOptions& options,
                          const std::vector<StrategyResult>& results);

}  // namespace rushgate::comparison
