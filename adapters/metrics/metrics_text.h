// Metrics with those of the HTTP server.
#pragma once

#include <string>

#include "adapters/metrics/http_figures.h"
#include <rushgate/sale_statistics.h>

namespace rushgate {

/// Returns the figures in Prometheus's text format. `http` may be null.
std::string metrics_text(const SaleStatistics& statistics, const HttpFigures* http);

}  // namespace rushgate
