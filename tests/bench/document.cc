#include "tests/bench/document.h"

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/bench/charts.h"
#include "tests/bench/page_figures.h"
#include "tests/bench/report.h"

namespace rushgate::bench {
namespace {

using nlohmann::json;

std::string shown(const json& samples, const std::string& unit) {
  return median_and_range(samples.at("median"), samples.at("min"), samples.at("max"), unit);
}

std::string tables(const json& report) {
  std::string text = "| line | ours | peer | ratio | target |\n| --- | --- | --- | --- | --- |\n";
  std::string how;
  for (const json& line : report.at("comparisons")) {
    const std::string name = line.at("line");
    const std::string unit = line.at("unit");
    text += fmt::format("| {} | {} | {} | {:.3g} | {} |\n", name, shown(line.at("ours"), unit),
                        shown(line.at("peer"), unit), line.at("ratio").get<double>(),
                        line.contains("target") ? short_number(line.at("target")) : "");
    const std::string note = line.at("note");
    how += fmt::format("- {}: {}; compared with {}{}{}.\n", name,
                       line.at("ours_is").get<std::string>(), line.at("peer_is").get<std::string>(),
                       note.empty() ? "" : "; ", note);
  }
  text += "\n| figure | value | target | note |\n| --- | --- | --- | --- |\n";
  for (const json& figure : report.at("figures")) {
    const std::string unit = figure.at("unit");
    text += fmt::format("| {} | {} | {} | {} |\n", figure.at("line").get<std::string>(),
                        with_unit(figure.at("value"), unit),
                        figure.contains("target") ? beside_unit(figure.at("target"), unit) : "",
                        figure.at("note").get<std::string>());
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
  const auto begin = page.find(kFiguresBegin);
  const auto end = page.find(kFiguresEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    throw std::runtime_error(path.string() + " has no place for the figures");
  }
  return page.substr(0, begin + kFiguresBegin.size()) + '\n' + tables + '\n' + page.substr(end);
}

}  // namespace

void write_document(const json& report, const std::filesystem::path& dir) {
  const std::filesystem::path page = dir / "performance.md";
  write_file(page, with_tables(read_file(page), tables(report), page));
  // The charts are drawn from the page, so both show the same digits.
  const std::string written = read_file(page);
  const std::filesystem::path charts = dir / "performance";
  std::filesystem::create_directories(charts);
  for (const Chart& chart : draw_charts(read_figures(written), read_machine(written))) {
    write_file(charts / (chart.name + ".svg"), chart.svg);
  }
}

}  // namespace rushgate::bench
