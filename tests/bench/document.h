// Writes the documentation page of the measurements: its tables and its charts.
#pragma once

#include <filesystem>

#include <nlohmann/json_fwd.hpp>

namespace rushgate::bench {

/// Writes the result of Report::to_json() into `dir`. The tables go into performance.md, between
/// its lines "<!-- figures -->" and "<!-- end of figures -->", and the charts into the folder
/// performance. Throws std::runtime_error on failure.
void write_document(const nlohmann::json& report, const std::filesystem::path& dir);

}  // namespace rushgate::bench
