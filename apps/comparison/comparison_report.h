// A comparison's results as a table and as JSON.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "apps/comparison/comparison.h"

namespace rushgate::comparison {

/// The faults in the order of the table's columns.
inline constexpr std::array kFaults = {strategies::Fault::kOversold,   strategies::Fault::kDoubled,
                                       strategies::Fault::kTurnedAway, strategies::Fault::kLost,
                                       strategies::Fault::kLeftBehind, strategies::Fault::kUnsold};

/// Returns "oversold", "doubled", …: as in the table, with "_" for a space.
std::string_view fault_name(strategies::Fault fault);

nlohmann::ordered_json to_json(const ComparisonOptions& options,
                               const std::vector<StrategyResult>& results);

std::string format_comparison(const ComparisonOptions& options,
                              const std::vector<StrategyResult>& results);

}  // namespace rushgate::comparison
