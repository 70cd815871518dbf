// The results of a comparison as pictures (SVG).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/comparison/comparison.h"

namespace rushgate::comparison {

/// Returns a bar for each strategy, as long as the logarithm of its rate. Unsafe ones have another
/// colour.
std::string rate_chart(const std::vector<StrategyResult>& results);

/// Returns a bar for each fault, compared with the stock.
std::string fault_chart(const ComparisonOptions& options, const StrategyResult& result);

/// Writes `rates.svg`, and `<letter>.svg` for each strategy, into `dir`, which is made if it is missing.
absl::Status write_charts(const std::filesystem::path& dir, const ComparisonOptions& options,
                          const std::vector<StrategyResult>& results);

}  // namespace rushgate::comparison
