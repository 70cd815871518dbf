// The figures of a sale for Prometheus. docs/operations.md lists them, with alerts and a dashboard.
#pragma once

#include <string>
#include <string_view>

#include <rushgate/flash_sale.h>

namespace rushgate {

/// The type of metrics_text(), for the header field Content-Type.
inline constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

/// Returns FlashSale::statistics() in Prometheus's text format. Serve it at /metrics. HttpServer does,
/// and adds its own figures. Thread-safe; blocks as statistics() does.
std::string metrics_text(FlashSale& sale);

}  // namespace rushgate
