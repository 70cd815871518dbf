#include "adapters/metrics/metric_families.h"
#include "adapters/metrics/metrics_text.h"
#include <rushgate/metrics.h>

namespace rushgate {

std::string metrics_text(const SaleStatistics& statistics, const HttpFigures* http) {
  MetricFamilies families;
  add_families(statistics, families);
  if (http != nullptr) add_families(*http, families);
  add_process_families(families);
  return format_families(families);
}

std::string metrics_text(FlashSale& sale) { return metrics_text(sale.statistics(), nullptr); }

}  // namespace rushgate
