// Draws the charts of docs/performance.md.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace rushgate::bench {

struct Chart {
  std::string name;  // of the file, without .svg
  std::string svg;
};

/// Draws `report`, in the form of Report::to_json(). Each chart names its unit, `machine`, and the
/// command that measures its figures. A chart without figures is left out.
std::vector<Chart> draw_charts(const nlohmann::json& report, const std::string& machine);

}  // namespace rushgate::bench
