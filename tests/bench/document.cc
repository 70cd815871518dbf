#include "tests/bench/document.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/bench/report.h"

namespace rushgate::bench {
namespace {

using nlohmann::json;

std::string shown(const json& samples, const std::string& unit) {
  const double min = samples.at("min");
  const double max = samples.at("max");
  return fmt::format("{} {} ({} … {})", short_number(samples.at("median")), unit, short_number(min),
                     short_number(max));
}

std::string target_of(const json& line) {
  return line.contains("target") ? short_number(line.at("target")) : "";
}

bool is_reached(const json& comparison) {
  return !comparison.contains("target") ||
         comparison.at("ratio").get<double>() >= comparison.at("target").get<double>();
}

// ---- The tables ----

std::string tables(const json& report) {
  std::string text = "| line | ours | peer | ratio | target |\n| --- | --- | --- | --- | --- |\n";
  std::string how;
  for (const json& line : report.at("comparisons")) {
    const std::string name = line.at("line");
    const std::string unit = line.at("unit");
    text +=
        fmt::format("| {} | {} | {} | {:.3g} | {} |\n", name, shown(line.at("ours"), unit),
                    shown(line.at("peer"), unit), line.at("ratio").get<double>(), target_of(line));
    const std::string note = line.at("note");
    how += fmt::format("- {}: {}; compared with {}{}{}.\n", name,
                       line.at("ours_is").get<std::string>(), line.at("peer_is").get<std::string>(),
                       note.empty() ? "" : "; ", note);
  }
  text += "\n| figure | value | target | note |\n| --- | --- | --- | --- |\n";
  for (const json& figure : report.at("figures")) {
    text += fmt::format("| {} | {} {} | {} | {} |\n", figure.at("line").get<std::string>(),
                        short_number(figure.at("value")), figure.at("unit").get<std::string>(),
                        target_of(figure), figure.at("note").get<std::string>());
  }
  return text + "\nThe measurements:\n\n" + how;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) throw std::runtime_error("cannot write " + path.string());
}

std::string with_tables(const std::string& page, const std::string& tables,
                        const std::filesystem::path& path) {
  constexpr std::string_view kBegin = "<!-- figures -->\n";
  constexpr std::string_view kEnd = "<!-- end of figures -->";
  const auto begin = page.find(kBegin);
  const auto end = page.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    throw std::runtime_error(path.string() + " has no place for the figures");
  }
  return page.substr(0, begin + kBegin.size()) + '\n' + tables + '\n' + page.substr(end);
}

// ---- The chart: one bar per comparison, as long as the logarithm of its ratio ----

constexpr int kLabelWidth = 370;
constexpr int kBarWidth = 380;
constexpr int kRowHeight = 22;
constexpr int kTop = 40;

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

/// Shows ratios on a logarithmic axis.
class Axis {
 public:
  explicit Axis(const json& comparisons) {
    for (const json& line : comparisons) {
      const double ratio = line.at("ratio");
      least_ = std::min(least_, ratio);
      most_ = std::max(most_, ratio);
    }
    least_ = std::pow(10, std::floor(std::log10(least_)));
    most_ = std::pow(10, std::ceil(std::log10(most_)));
  }
  [[nodiscard]] double x(double ratio) const {
    const double share = std::log10(ratio / least_) / std::log10(most_ / least_);
    return kLabelWidth + kBarWidth * std::clamp(share, 0.0, 1.0);
  }
  [[nodiscard]] double least() const { return least_; }
  [[nodiscard]] double most() const { return most_; }

 private:
  double least_ = 1;
  double most_ = 10;
};

std::string chart(const json& comparisons) {
  const Axis axis(comparisons);
  const int bottom = kTop + kRowHeight * static_cast<int>(comparisons.size());
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
      "{1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n"
      "<text x=\"10\" y=\"18\" font-weight=\"bold\">Ratio to the peer, logarithmic (a black line: "
      "the "
      "target)</text>\n",
      kLabelWidth + kBarWidth + 60, bottom + 20);
  for (double ratio = axis.least(); ratio <= axis.most() * 1.001; ratio *= 10) {
    svg += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" stroke=\"#ddd\"/>"
        "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\" fill=\"#666\">{4:g}</text>\n",
        axis.x(ratio), kTop - 6, bottom, bottom + 14, ratio);
  }
  int y = kTop;
  for (const json& line : comparisons) {
    const double ratio = line.at("ratio");
    const double from = axis.x(1);
    const double to = axis.x(ratio);
    svg += fmt::format(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>"
        "<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\"/>"
        "<text x=\"{:.1f}\" y=\"{}\" fill=\"#333\">{:.3g}</text>",
        kLabelWidth - 8, y + 14, escaped(line.at("line")), std::min(from, to), y + 3,
        std::abs(to - from), kRowHeight - 6, is_reached(line) ? "#3a7d44" : "#c77d11",
        std::max(from, to) + 5, y + 14, ratio);
    if (line.contains("target")) {
      svg += fmt::format(
          "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" "
          "stroke=\"black\" stroke-width=\"2\"/>",
          axis.x(line.at("target")), y + 1, y + kRowHeight - 1);
    }
    svg += '\n';
    y += kRowHeight;
  }
  return svg + "</svg>\n";
}

}  // namespace

void write_document(const json& report, const std::filesystem::path& dir) {
  const std::filesystem::path page = dir / "performance.md";
  write_file(page, with_tables(read_file(page), tables(report), page));
  write_file(dir / "performance.svg", chart(report.at("comparisons")));
}

}  // namespace rushgate::bench
