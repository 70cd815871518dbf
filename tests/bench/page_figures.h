// Reads the figures of docs/performance.md.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace rushgate::bench {

/// The figures of a page are between these lines.
inline constexpr std::string_view kFiguresBegin = "<!-- figures -->\n";
inline constexpr std::string_view kFiguresEnd = "<!-- end of figures -->";

/// Returns the figures of the page in the form of Report::to_json(), with three significant
/// digits and all durations in µs. Numbers of rounds are not on the page. Throws std::runtime_error if a row is unreadable.
nlohmann::json read_figures(std::string_view page);

/// Returns the machine on which the figures were measured: the rest of the page's line
/// "Machine: …". Throws std::runtime_error if there is none.
std::string read_machine(std::string_view page);

}  // namespace rushgate::bench
