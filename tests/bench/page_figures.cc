#include "tests/bench/page_figures.h"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/bench/report.h"

namespace rushgate::bench {
namespace {

using nlohmann::json;
using std::string_view;

constexpr std::size_t kComparisonCells = 5;
constexpr std::size_t kFigureCells = 4;

[[noreturn]] void fail(string_view line) {
  throw std::runtime_error("the page has an unreadable line: " + std::string(line));
}

std::vector<string_view> lines_of(string_view text) {
  std::vector<string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

/// Returns the cells of "| a | b |".
std::vector<std::string> cells_of(string_view row) {
  constexpr string_view kBar = " |";
  std::vector<std::string> cells;
  row.remove_prefix(1);
  for (std::size_t bar = 0; (bar = row.find(kBar)) != string_view::npos;) {
    const string_view cell = row.substr(0, bar);
    cells.emplace_back(cell.empty() ? cell : cell.substr(1));  // without the blank
    row.remove_prefix(bar + kBar.size());
  }
  return cells;
}

/// Returns 284000 for "284" and " k".
double number(const std::string& digits, const std::string& scale) {
  constexpr std::pair<string_view, double> kScales[] = {
      {"", 1}, {" k", 1e3}, {" M", 1e6}, {" G", 1e9}};
  for (const auto& [name, factor] : kScales) {
    if (name == scale) return std::stod(digits) * factor;
  }
  fail(digits + scale);
}

struct Quantity {
  double value;
  std::string unit;
};

/// Reads "284 k admissions/s", "284 k", or a duration, which becomes one in microseconds.
Quantity read_quantity(const std::string& text) {
  const std::size_t digits_end = std::min(text.find(' '), text.size());
  std::string unit = text.substr(digits_end);
  const bool has_scale = unit.size() > 1 && string_view("kMG").find(unit[1]) != string_view::npos &&
                         (unit.size() == 2 || unit[2] == ' ');
  const std::string scale = unit.substr(0, has_scale ? 2 : 0);
  unit.erase(0, std::min(scale.size() + 1, unit.size()));  // with the blank before it
  if (digits_end == 0) fail(text);
  const double value = number(text.substr(0, digits_end), scale);
  const auto us = microseconds_in(unit);
  return us ? Quantity{value * *us, "µs"} : Quantity{value, std::move(unit)};
}

/// Reads "284 k admissions/s (263 k … 303 k)" into `side` of the comparison, and the unit.
void read_samples(const std::string& cell, const char* side, json& comparison) {
  constexpr string_view kOpen = " (";
  constexpr string_view kTo = " … ";
  const std::size_t open = cell.rfind(kOpen);
  const std::size_t to = cell.rfind(kTo);
  if (to == std::string::npos || open > to || !cell.ends_with(')')) fail(cell);
  const std::size_t least = open + kOpen.size();
  const std::size_t most = to + kTo.size();
  const Quantity median = read_quantity(cell.substr(0, open));
  comparison[side] = {{"median", median.value},
                      {"min", read_quantity(cell.substr(least, to - least)).value},
                      {"max", read_quantity(cell.substr(most, cell.size() - 1 - most)).value}};
  comparison["unit"] = median.unit;
}

void read_target(const std::string& cell, json& line) {
  if (!cell.empty()) line["target"] = read_quantity(cell).value;
}

json comparison_of(const std::vector<std::string>& cells) {
  json comparison = {{"line", cells[0]}, {"ratio", std::stod(cells[3])}};
  read_samples(cells[1], "ours", comparison);
  read_samples(cells[2], "peer", comparison);
  read_target(cells[4], comparison);
  return comparison;
}

json figure_of(const std::vector<std::string>& cells) {
  const Quantity quantity = read_quantity(cells[1]);
  json figure = {
      {"line", cells[0]}, {"value", quantity.value}, {"unit", quantity.unit}, {"note", cells[3]}};
  read_target(cells[2], figure);
  return figure;
}

/// Reads "- <line>: <ours>; compared with <peer>; <note>." into its comparison.
void read_measurement(string_view item, json& comparison) {
  constexpr string_view kCompared = "; compared with ";
  const std::string begin = "- " + comparison.at("line").get<std::string>() + ": ";
  const std::size_t compared = item.find(kCompared);
  if (!item.starts_with(begin) || !item.ends_with('.') || compared == string_view::npos) fail(item);
  comparison["ours_is"] = item.substr(begin.size(), compared - begin.size());
  const string_view peer = item.substr(compared + kCompared.size());
  const string_view rest = peer.substr(0, peer.size() - 1);
  const std::size_t note = rest.find("; ");
  comparison["peer_is"] = rest.substr(0, note);
  comparison["note"] = note == string_view::npos ? string_view() : rest.substr(note + 2);
}

}  // namespace

json read_figures(string_view page) {
  const std::size_t begin = page.find(kFiguresBegin);
  const std::size_t end = page.find(kFiguresEnd);
  if (begin == string_view::npos || end == string_view::npos || end < begin) {
    throw std::runtime_error("the page has no place for the figures");
  }
  json comparisons = json::array();
  json figures = json::array();
  std::size_t measurements = 0;
  for (const string_view line : lines_of(page.substr(begin, end - begin))) {
    if (line.starts_with("- ")) {
      if (measurements == comparisons.size()) fail(line);
      read_measurement(line, comparisons[measurements++]);
    }
    if (!line.starts_with("| ") || line.starts_with("| ---")) continue;
    const std::vector<std::string> cells = cells_of(line);
    if (cells.front() == "line" || cells.front() == "figure") continue;
    if (cells.size() == kComparisonCells) {
      comparisons.push_back(comparison_of(cells));
    } else if (cells.size() == kFigureCells) {
      figures.push_back(figure_of(cells));
    } else {
      fail(line);
    }
  }
  if (measurements != comparisons.size()) fail("The measurements:");
  return {{"comparisons", std::move(comparisons)}, {"figures", std::move(figures)}};
}

std::string read_machine(string_view page) {
  constexpr string_view kBegin = "Machine: ";
  for (const string_view line : lines_of(page)) {
    if (line.starts_with(kBegin)) return std::string(line.substr(kBegin.size()));
  }
  throw std::runtime_error("the page has no line \"Machine: …\"");
}

}  // namespace rushgate::bench
