// The figures of a sale as JSON, and the names that JSON and Prometheus share.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <rushgate/purchase.h>
#include <rushgate/sale_statistics.h>

namespace rushgate {

/// Returns "accepted", "sold_out", …
std::string outcome_label(Outcome outcome);
/// Returns the text as UTF-8, without bytes that are none, and cut to some hundred bytes.
std::string label_text(std::string_view text);

/// A figure that is not known is null.
nlohmann::ordered_json to_json(const SaleStatistics& statistics);
nlohmann::ordered_json to_json(const LatencyFigures& latency);

}  // namespace rushgate
