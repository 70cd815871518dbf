// The figures of a sale as families of metrics.
#pragma once

#include <prometheus/metric_family.h>

#include <string>
#include <vector>

#include "adapters/metrics/http_figures.h"
#include <rushgate/sale_statistics.h>

namespace rushgate {

using MetricFamilies = std::vector<prometheus::MetricFamily>;

void add_families(const SaleStatistics& statistics, MetricFamilies& families);
void add_families(const HttpFigures& figures, MetricFamilies& families);
/// Adds those of this process, with the names that all programs have.
void add_process_families(MetricFamilies& families);

/// Returns the families in Prometheus's text format.
std::string format_families(const MetricFamilies& families);

}  // namespace rushgate
