#include "apps/comparison/charts.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "apps/comparison/comparison_report.h"
#include "apps/comparison/svg_picture.h"
#include "apps/text_table.h"
#include "engine/core/base/make_directory.h"

namespace rushgate::comparison {
namespace {

constexpr std::string_view kGood = "#3a7d44";
constexpr std::string_view kBad = "#b3392f";
constexpr std::string_view kNuisance = "#8a8a8a";
constexpr std::string_view kGridLine = "#dddddd";
constexpr std::string_view kTickLabel = "#555555";

struct Bar {
  std::string label;
  std::int64_t value;  // at least 1
  std::string_view colour;
};

/// Returns a row for each bar, on a logarithmic axis with a line at each power of ten.
std::string bar_chart(std::string_view title, const std::vector<Bar>& bars) {
  constexpr double kFrom = 320;
  constexpr double kTo = 640;
  constexpr int kWidth = 710;
  constexpr double kRowHeight = 22;
  constexpr double kTop = 56;
  SvgPicture picture;
  picture.label(8, 20, title, {.is_bold = true});
  if (bars.empty()) picture.label(8, kTop, "none", {});
  double least = 1e12;
  double most = 1;
  for (const Bar& bar : bars) {
    least = std::min(least, static_cast<double>(bar.value));
    most = std::max(most, static_cast<double>(bar.value));
  }
  const double first_power = std::pow(10, std::floor(std::log10(least)));
  const LogAxis axis{.least = first_power / 2, .most = most, .from = kFrom, .to = kTo};
  const double bottom = kTop + kRowHeight * static_cast<double>(bars.size());
  for (double power = first_power; power <= most; power *= 10) {
    picture.line(axis.at(power), kTop, axis.at(power), bottom, {.colour = kGridLine});
    picture.label(axis.at(power), kTop - 6, grouped(static_cast<std::int64_t>(power)),
                  {.anchor = "middle", .colour = kTickLabel});
  }
  double y = kTop;
  for (const Bar& bar : bars) {
    const double end = axis.at(static_cast<double>(bar.value));
    picture.label(kFrom - 8, y + 15, bar.label, {.anchor = "end"});
    picture.rectangle(kFrom, y + 4, end - kFrom, kRowHeight - 7, bar.colour);
    picture.label(end + 5, y + 15, grouped(bar.value), {.has_halo = true});
    y += kRowHeight;
  }
  return picture.svg(kWidth, static_cast<int>(bottom) + 8);
}

std::string_view colour_of(strategies::Fault fault) { return is_unsafe(fault) ? kBad : kNuisance; }

absl::Status write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (out.flush()) return absl::OkStatus();
  return absl::UnavailableError("cannot write " + path.string());
}

}  // namespace

std::string rate_chart(const std::vector<StrategyResult>& results) {
  std::vector<Bar> bars;
  for (const StrategyResult& result : results) {
    bars.push_back({.label = fmt::format("{}  {}", result.kind->letter, result.kind->name),
                    .value = std::max<std::int64_t>(1, static_cast<std::int64_t>(result.rate())),
                    .colour = is_safe(*result.kind) ? kGood : kBad});
  }
  return bar_chart("Clicks handled per second, on a logarithmic scale (red: unsafe)", bars);
}

std::string fault_chart(const ComparisonOptions& options,
                        const std::vector<StrategyResult>& results) {
  std::vector<Bar> bars;
  for (const StrategyResult& result : results) {
    for (const strategies::Fault fault : kFaults) {
      const std::int64_t count = result.worst(fault);
      if (count == 0) continue;
      std::string name(fault_name(fault));
      std::replace(name.begin(), name.end(), '_', ' ');
      bars.push_back({.label = fmt::format("{}  {}: {}", result.kind->letter, result.kind->name,
                                           std::move(name)),
                      .value = count,
                      .colour = colour_of(fault)});
    }
  }
  return bar_chart(fmt::format("Faults in the worst rush for a stock of {}, on a logarithmic scale",
                               grouped(options.stock)),
                   bars);
}

absl::Status write_charts(const std::filesystem::path& dir, const ComparisonOptions& options,
                          const std::vector<StrategyResult>& results) {
  absl::Status written = make_directory(dir);
  if (written.ok()) written = write_file(dir / "rates.svg", rate_chart(results));
  if (written.ok()) written = write_file(dir / "faults.svg", fault_chart(options, results));
  return written;
}

}  // namespace rushgate::comparison
