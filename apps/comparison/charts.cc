#include "apps/comparison/charts.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <string_view>

#include <fmt/format.h>

#include "apps/comparison/comparison_report.h"
#include "apps/comparison/xml_escape.h"
#include "apps/text_table.h"
#include "engine/base/make_directory.h"

namespace rushgate::comparison {
namespace {

constexpr int kLabelWidth = 220;
constexpr int kBarWidth = 320;
constexpr int kWidth = kLabelWidth + kBarWidth + 100;
constexpr int kRowHeight = 22;
constexpr int kTop = 32;
constexpr std::string_view kGood = "#3a7d44";
constexpr std::string_view kBad = "#b3392f";

/// Rows with a label, a bar and a number.
class BarChart {
 public:
  explicit BarChart(std::string_view title) : title_(title) {}

  /// Adds a row. `share` is the length of the bar, from 0 to 1.
  void add(std::string_view label, double share, std::string_view colour, std::string_view number) {
    const int y = kTop + kRowHeight * rows_++;
    const double length = kBarWidth * std::clamp(share, 0.0, 1.0);
    bars_ += fmt::format(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>"
        "<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\"/>"
        "<text x=\"{:.1f}\" y=\"{}\" fill=\"#333\">{}</text>\n",
        kLabelWidth - 8, y + 15, xml_escaped(label), kLabelWidth, y + 4, length, kRowHeight - 7,
        colour, kLabelWidth + length + 5, y + 15, xml_escaped(number));
  }

  [[nodiscard]] std::string svg() const {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
        "{1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
        "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n"
        "<text x=\"8\" y=\"20\" font-weight=\"bold\">{2}</text>\n{3}</svg>\n",
        kWidth, kTop + kRowHeight * rows_ + 8, xml_escaped(title_), bars_);
  }

 private:
  const std::string title_;
  std::string bars_;
  int rows_ = 0;
};

std::string label_of(const strategies::StrategyKind& kind) {
  return fmt::format("{}  {}", kind.letter, kind.name);
}

absl::Status write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (out.flush()) return absl::OkStatus();
  return absl::UnavailableError("cannot write " + path.string());
}

}  // namespace

std::string rate_chart(const std::vector<StrategyResult>& results) {
  double least = 1e9;
  double most = 1;
  for (const StrategyResult& result : results) {
    least = std::min(least, std::max(1.0, result.rate()));
    most = std::max(most, result.rate());
  }
  least = std::pow(10, std::floor(std::log10(least)));
  BarChart chart("Clicks served per second, on a logarithmic scale (red: unsafe)");
  for (const StrategyResult& result : results) {
    const double rate = std::max(1.0, result.rate());
    const double share = std::log10(rate / least) / std::max(1.0, std::log10(most / least));
    chart.add(label_of(*result.kind), share, is_safe(*result.kind) ? kGood : kBad,
              grouped(static_cast<std::int64_t>(rate)));
  }
  return chart.svg();
}

std::string fault_chart(const ComparisonOptions& options, const StrategyResult& result) {
  BarChart chart(fmt::format("{}: the worst of all rushes for a stock of {}",
                             label_of(*result.kind), grouped(options.stock)));
  for (const strategies::Fault fault : kFaults) {
    const std::int64_t count = result.worst(fault);
    std::string name(fault_name(fault));
    std::replace(name.begin(), name.end(), '_', ' ');
    chart.add(name, static_cast<double>(count) / static_cast<double>(options.stock), kBad,
              count == 0 ? "none" : grouped(count));
  }
  return chart.svg();
}

absl::Status write_charts(const std::filesystem::path& dir, const ComparisonOptions& options,
                          const std::vector<StrategyResult>& results) {
  absl::Status written = make_directory(dir);
  if (written.ok()) written = write_file(dir / "rates.svg", rate_chart(results));
  for (const StrategyResult& result : results) {
    if (!written.ok()) return written;
    const std::string name = fmt::format("{}.svg", result.kind->letter);
    written = write_file(dir / name, fault_chart(options, result));
  }
  return written;
}

}  // namespace rushgate::comparison
