// Collects the measurements of the lines, prints them, and stores them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "tests/bench/samples.h"

namespace rushgate::bench {

/// Prints each line as soon as it is measured. Not thread-safe.
class Report {
 public:
  void add(Comparison comparison);
  void add(Figure figure);

  /// Returns {"comparisons": [...], "figures": [...]}, the source of docs/performance.md.
  [[nodiscard]] nlohmann::json to_json() const;

 private:
  std::vector<Comparison> comparisons_;
  std::vector<Figure> figures_;
};

/// Formats with three significant digits: 1234567.8 -> "1.23 M".
std::string short_number(double value);

/// Returns the line of the report for admissions in batches of `batch`: "accepted in batches of 10,
/// in memory".
std::string batch_line(int batch, std::string_view durability);

}  // namespace rushgate::bench
