// Where the lines gather what they measured, and how it is shown and kept.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "tests/bench/samples.h"

namespace rushgate::bench {

/// Prints each line as soon as it is measured. Not thread-safe.
class Report {
 public:
  void add(Comparison comparison);
  void add(Figure figure);

  /// {"comparisons": [...], "figures": [...]}: what docs/performance.md is made of.
  [[nodiscard]] nlohmann::json to_json() const;

 private:
  std::vector<Comparison> comparisons_;
  std::vector<Figure> figures_;
};

/// 1234567.8 -> "1.23 M"; three significant digits.
std::string short_number(double value);

}  // namespace rushgate::bench
