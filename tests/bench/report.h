// Collects the measurements of the lines, prints them, and stores them.
#pragma once

#include <optional>
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

/// Formats a duration with three significant digits: 1520 -> "1.52 ms".
std::string short_duration(double us);

/// Returns the microseconds in a unit of time: "µs", "ms" or "s". Nothing for another unit.
std::optional<double> microseconds_in(std::string_view unit);

/// Formats a value and its unit: 428000, "orders/s" -> "428 k orders/s"; 1520, "µs" -> "1.52 ms".
std::string with_unit(double value, std::string_view unit);

/// As with_unit(), where the unit stands nearby: "428 k". Durations keep theirs, which may differ.
std::string beside_unit(double value, std::string_view unit);

/// Formats a median and its range: "428 k orders/s (414 k … 461 k)".
std::string median_and_range(double median, double min, double max, std::string_view unit);

/// Returns the line of the report for admissions in batches of `batch`: "accepted in batches of 10,
/// in memory".
std::string batch_line(int batch, std::string_view durability);

// The lines of the report about a cluster.
inline constexpr int kMastersMax = 64;
inline constexpr std::string_view kManyVouchers = "64 vouchers";
inline constexpr std::string_view kOneVoucher = "one voucher";
inline constexpr std::string_view kDecided = "a purchase on a cluster";
inline constexpr std::string_view kStored = "storing its order";

/// Returns "a purchase on a cluster, one voucher: processor time of its master".
std::string cost_line(std::string_view step, std::string_view what, std::string_view whose);
/// Returns "predicted on 4 masters, one voucher".
std::string predicted_line(int masters, std::string_view what);

}  // namespace rushgate::bench
