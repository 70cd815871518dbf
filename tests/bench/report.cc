#include "tests/bench/report.h"

#include <cmath>
#include <cstdio>
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

std::string shown(const Samples& samples) {
  return fmt::format("{} ({} .. {})", short_number(samples.median()), short_number(samples.min()),
                     short_number(samples.max()));
}

}  // namespace

std::string short_number(double value) {
  constexpr std::pair<double, const char*> kScales[] = {{1e9, " G"}, {1e6, " M"}, {1e3, " k"}};
  for (const auto& [scale, suffix] : kScales) {
    if (std::abs(value) >= scale) return fmt::format("{:.3g}{}", value / scale, suffix);
  }
  return fmt::format("{:.3g}", value);
}

std::string batch_line(int batch, std::string_view durability) {
  return fmt::format("accepted in batches of {}, {}", batch, durability);
}

void Report::add(Comparison comparison) {
  fmt::print("{}\n  {:<44} {} {}\n  {:<44} {} {}\n  ratio {:.2f}", comparison.line,
             comparison.ours_is, shown(comparison.ours), comparison.unit, comparison.peer_is,
             shown(comparison.peer), comparison.unit, comparison.ratio());
  if (comparison.target) fmt::print(", target {:.3g}", *comparison.target);
  if (!comparison.note.empty()) fmt::print("; {}", comparison.note);
  fmt::print("\n");
  std::fflush(stdout);
  comparisons_.push_back(std::move(comparison));
}

void Report::add(Figure figure) {
  fmt::print("{}: {} {}", figure.line, short_number(figure.value), figure.unit);
  if (figure.target) {
    fmt::print(", at {} {}", figure.better == Better::kLess ? "most" : "least",
               short_number(*figure.target));
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
