// The page of documentation that shows what was measured: its table, and its chart.
#pragma once

#include <filesystem>

#include <nlohmann/json_fwd.hpp>

namespace rushgate::bench {

/// Puts what Report::to_json() gave into `dir`: the tables into performance.md, between its lines
/// "<!-- figures -->" and "<!-- end of figures -->", and the chart into performance.svg. Throws
/// std::runtime_error if that cannot be done.
void write_document(const nlohmann::json& report, const std::filesystem::path& dir);

}  // namespace rushgate::bench
