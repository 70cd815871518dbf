#include "tests/bench/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace rushgate::bench {
namespace {

nlohmann::json to_json(const Samples& samples) {
  return {{"median", samples.median()},
          {"min", samples.min()},
          {"max", samples.max()},
          {"rounds", samples.size()}};
}

std::string shown(const Samples& samples, std::string_view unit) {
  return median_and_range(samples.median(), samples.min(), samples.max(), unit);
}

struct Scale {
  double factor;
  const char* suffix;
};

/// Formats with three significant digits in the first scale that the value reaches, or the last.
std::string scaled(double value, std::span<const Scale> scales) {
  constexpr double kRoundsUp = 0.9995;  // 999.5 is shown as 1000, which is 1 of the next scale
  const auto reached = std::ranges::find_if(
      scales, [value](const Scale& scale) { return std::abs(value) >= kRoundsUp * scale.factor; });
  const Scale& scale = reached == scales.end() ? scales.back() : *reached;
  return fmt::format("{:.3g}{}", value / scale.factor, scale.suffix);
}

}  // namespace

std::string short_number(double value) {
  static constexpr Scale kScales[] = {{1e9, " G"}, {1e6, " M"}, {1e3, " k"}, {1, ""}};
  return scaled(value, kScales);
}

std::string short_duration(double us) {
  static constexpr Scale kScales[] = {{1e6, " s"}, {1e3, " ms"}, {1, " µs"}};
  return scaled(us, kScales);
}

std::optional<double> microseconds_in(std::string_view unit) {
  if (unit == "µs") return 1;
  if (unit == "ms") return 1e3;
  if (unit == "s") return 1e6;
  return std::nullopt;
}

std::string with_unit(double value, std::string_view unit) {
  if (const auto us = microseconds_in(unit)) return short_duration(value * *us);
  return fmt::format("{} {}", short_number(value), unit);
}

std::string beside_unit(double value, std::string_view unit) {
  return microseconds_in(unit) ? with_unit(value, unit) : short_number(value);
}

std::string median_and_range(double median, double min, double max, std::string_view unit) {
  return fmt::format("{} ({} … {})", with_unit(median, unit), beside_unit(min, unit),
                     beside_unit(max, unit));
}

std::string batch_line(int batch, std::string_view durability) {
  return fmt::format("accepted in batches of {}, {}", batch, durability);
}

std::string cost_line(std::string_view step, std::string_view what, std::string_view whose) {
  return fmt::format("{}, {}: processor time of {}", step, what, whose);
}

std::string predicted_line(int masters, std::string_view what) {
  return fmt::format("predicted on {} {}, {}", masters, masters == 1 ? "master" : "masters", what);
}

void Report::add(Comparison comparison) {
  fmt::print("{}\n  {:<44} {}\n  {:<44} {}\n  ratio {:.2f}", comparison.line, comparison.ours_is,
             shown(comparison.ours, comparison.unit), comparison.peer_is,
             shown(comparison.peer, comparison.unit), comparison.ratio());
  if (comparison.target) fmt::print(", target {:.3g}", *comparison.target);
  if (!comparison.note.empty()) fmt::print("; {}", comparison.note);
  fmt::print("\n");
  std::fflush(stdout);
  comparisons_.push_back(std::move(comparison));
}

void Report::add(Figure figure) {
  fmt::print("{}: {}", figure.line, with_unit(figure.value, figure.unit));
  if (figure.target) {
    fmt::print(", at {} {}", figure.better == Better::kLess ? "most" : "least",
               beside_unit(*figure.target, figure.unit));
  }
  if (!figure.note.empty()) fmt::print("; {}", figure.note);
  fmt::print("\n");
  std::fflush(stdout);
  figures_.push_back(std::move(figure));
}

nlohmann::json Report::to_json() const {
  nlohmann::json json = {{"comparisons", nlohmann::json::array()},
                         {"figures", nlohmann::json::array()}};
  for (const Comparison& comparison : comparisons_) {
    nlohmann::json line = {{"line", comparison.line},
                           {"unit", comparison.unit},
                           {"ours_is", comparison.ours_is},
                           {"peer_is", comparison.peer_is},
                           {"ours", bench::to_json(comparison.ours)},
                           {"peer", bench::to_json(comparison.peer)},
                           {"ratio", comparison.ratio()},
                           {"note", comparison.note}};
    if (comparison.target) line["target"] = *comparison.target;
    json["comparisons"].push_back(std::move(line));
  }
  for (const Figure& figure : figures_) {
    nlohmann::json line = {{"line", figure.line},
                           {"unit", figure.unit},
                           {"value", figure.value},
                           {"better", figure.better == Better::kLess ? "less" : "more"},
                           {"note", figure.note}};
    if (figure.target) line["target"] = *figure.target;
    json["figures"].push_back(std::move(line));
  }
  return json;
}

}  // namespace rushgate::bench
