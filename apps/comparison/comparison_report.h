// What a comparison came to: the table and its JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "apps/comparison/comparison.h"

namespace rushgate::comparison {

/// "oversold", "doubled", …: as in the table, for JSON with "_".
std::string_view fault_name(strategies::Fault fault);

nlohmann::ordered_json to_json(const ComparisonOptions& options,
                               const std::vector<StrategyResult>& results);

std::string format_comparison(const ComparisonOptions& options,
                              const std::vector<StrategyResult>& results);

}  // namespace rushgate::comparison
