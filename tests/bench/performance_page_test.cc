// Reading docs/performance.md, writing it, and drawing its charts.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/bench/charts.h"
#include "tests/bench/document.h"
#include "tests/bench/page_figures.h"
#include "tests/bench/report.h"
#include "tests/support/patterns.h"
#include "tests/support/temporary_directory.h"

namespace rushgate::bench {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

namespace fs = std::filesystem;

const fs::path kDocs = fs::path(RUSHGATE_ROOT) / "docs";
constexpr const char* kCharts[] = {"throughput", "latency",   "memory", "socket",
                                   "http",       "databases", "cluster"};

std::string contents(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  EXPECT_TRUE(in) << file;
  return {std::istreambuf_iterator<char>(in), {}};
}

json samples(double median) {
  return {{"median", median}, {"min", median / 2}, {"max", median * 2}};
}

json comparison(const std::string& line, double ours, double peer) {
  return {
      {"line", line},         {"unit", "u"},       {"ours", samples(ours)}, {"peer", samples(peer)},
      {"ratio", ours / peer}, {"ours_is", "this"}, {"peer_is", "that"},     {"note", ""}};
}

json report_of(const std::vector<json>& comparisons, const std::vector<json>& figures = {}) {
  return {{"comparisons", comparisons}, {"figures", figures}};
}

/// Returns the only chart of the report.
std::string drawn(const json& report, const std::string& name) {
  const std::vector<Chart> charts = draw_charts(report, "a <small> one");
  EXPECT_EQ(charts.size(), 1U);
  if (charts.empty()) return {};
  EXPECT_EQ(charts.front().name, name);
  return charts.front().svg;
}

/// Returns the values of an attribute, in the order of the shapes.
std::vector<double> values(const std::string& svg, const std::string& shape,
                           const std::string& attribute) {
  std::vector<double> found;
  const std::string pattern = "<" + shape + " [^>]*\\b" + attribute + "=\"([0-9.]+)\"";
  for (const std::string& value : testing::find_all(svg, pattern)) {
    found.push_back(std::stod(value));
  }
  return found;
}

TEST(PerformancePageTest, WritingFiguresOfPageKeepsPage) {
  const TemporaryDirectory scratch;
  fs::copy_file(kDocs / "performance.md", scratch.path() / "performance.md");
  write_document(read_figures(contents(kDocs / "performance.md")), scratch.path());
  EXPECT_EQ(contents(scratch.path() / "performance.md"), contents(kDocs / "performance.md"));
}

TEST(PerformancePageTest, ChartsShowFiguresOfPage) {
  const std::string page = contents(kDocs / "performance.md");
  const std::vector<Chart> charts = draw_charts(read_figures(page), read_machine(page));
  ASSERT_EQ(charts.size(), std::size(kCharts));
  for (const Chart& chart : charts) {
    EXPECT_EQ(contents(kDocs / "performance" / (chart.name + ".svg")), chart.svg)
        << "Draw it again: rush_bench --from docs/performance.md --document docs";
    EXPECT_THAT(page, HasSubstr("](performance/" + chart.name + ".svg)\n"));
  }
}

TEST(PerformancePageTest, ChartNamesUnitMachineAndCommand) {
  const std::string page = contents(kDocs / "performance.md");
  for (const Chart& chart : draw_charts(read_figures(page), "a <small> one")) {
    SCOPED_TRACE(chart.name);
    EXPECT_TRUE(chart.svg.starts_with("<svg ") && chart.svg.ends_with("</svg>\n"));
    EXPECT_THAT(chart.svg, HasSubstr(">Machine: a &lt;small&gt; one</text>"));
    EXPECT_THAT(chart.svg, HasSubstr(">Command: ./dev bench "));
    EXPECT_THAT(chart.svg, HasSubstr(">Compared: "));
    EXPECT_THAT(chart.svg, ::testing::ContainsRegex("(linear|logarithmic)"));
    for (const double size : values(chart.svg, "text", "font-size")) EXPECT_GE(size, 12);
  }
}

TEST(PerformancePageTest, DurationOfAnyUnitIsReadAsMicroseconds) {
  const json report = read_figures(
      "<!-- figures -->\n| wait | 900 µs (1 µs … 2.5 ms) | 3 s (2 s … 4 s) | 1 |  |\n"
      "| start | 36 ms | 50 ms |  |\n- wait: a; compared with b.\n<!-- end of figures -->\n");
  const json& wait = report.at("comparisons").at(0);
  EXPECT_EQ(wait.at("unit"), "µs");
  EXPECT_EQ(wait.at("ours"), json({{"median", 900.0}, {"min", 1.0}, {"max", 2'500.0}}));
  EXPECT_EQ(wait.at("peer"), json({{"median", 3e6}, {"min", 2e6}, {"max", 4e6}}));
  const json& start = report.at("figures").at(0);
  EXPECT_EQ(start.at("value"), 36'000.0);
  EXPECT_EQ(start.at("target"), 50'000.0);
}

TEST(ReportTest, DurationHasUnitThatKeepsItShort) {
  EXPECT_EQ(with_unit(0.401, "µs"), "0.401 µs");
  EXPECT_EQ(with_unit(999.4, "µs"), "999 µs");
  EXPECT_EQ(with_unit(999.6, "µs"), "1 ms");
  EXPECT_EQ(with_unit(12'600, "µs"), "12.6 ms");
  EXPECT_EQ(with_unit(0.0137, "ms"), "13.7 µs");
  EXPECT_EQ(with_unit(0.178, "s"), "178 ms");
  EXPECT_EQ(with_unit(8.5, "s"), "8.5 s");
}

TEST(ReportTest, UnitOfRangeStandsOnceUnlessTimes) {
  EXPECT_EQ(median_and_range(428e3, 414e3, 999.6e3, "runs/s"), "428 k runs/s (414 k … 1 M)");
  EXPECT_EQ(median_and_range(900, 80, 2'500, "µs"), "900 µs (80 µs … 2.5 ms)");
}

TEST(PerformancePageTest, UnreadableRowIsError) {
  const std::string rows =
      "<!-- figures -->\n| a | fast | 2 u (1 … 3) | 1 | |\n<!-- end of figures -->\n";
  EXPECT_THROW(read_figures(rows), std::runtime_error);
  EXPECT_THROW(read_figures("no figures"), std::runtime_error);
  EXPECT_THROW(read_machine("no machine"), std::runtime_error);
}

TEST(ChartsTest, ReportWithoutFiguresHasNoChart) {
  EXPECT_TRUE(draw_charts(report_of({comparison("other", 2, 1)}), "machine").empty());
}

TEST(ChartsTest, ThroughputConnectsNeighbouringBatchSizes) {
  const std::vector<json> comparisons = {
      comparison("accepted in batches of 10, in memory", 2e5, 1e5),
      comparison("accepted in batches of 100, in memory", 1e6, 1e5),
      comparison("accepted in batches of 10000, in memory", 2e6, 1e5)};
  const std::string svg = drawn(report_of(comparisons), "throughput");
  const std::vector<double> x = values(svg, "circle", "cx");
  const std::vector<double> y = values(svg, "circle", "cy");
  ASSERT_EQ(x.size(), 3U);
  EXPECT_NEAR((x[2] - x[0]) / (x[1] - x[0]), 3, 0.01);  // three decades and one
  EXPECT_GT(y[0], y[1]);
  EXPECT_GT(y[1], y[2]);
  for (const char* const rate : {">200 k<", ">1 M<", ">2 M<", ">100 k<"}) {
    EXPECT_THAT(svg, HasSubstr(rate));
  }
  const std::string ours = "stroke=\"#1f6f8b\"";
  const std::size_t first = svg.find(ours);
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(svg.find(ours, first + 1), std::string::npos);
}

TEST(ChartsTest, LatencyHasDotForEachQuantile) {
  const std::vector<json> comparisons = {comparison("accepted, one at a time: median", 10, 100),
                                         comparison("accepted, one at a time: p99.9", 100, 1'000)};
  const std::vector<json> figures = {
      {{"line", "a request of 8 threads: median"}, {"unit", "µs"}, {"value", 30}, {"note", ""}},
      {{"line", "a request of 8 threads: p99"}, {"unit", "µs"}, {"value", 2'440}, {"note", ""}}};
  const std::string svg = drawn(report_of(comparisons, figures), "latency");
  const std::vector<double> x = values(svg, "circle", "cx");
  ASSERT_EQ(x.size(), 6U);
  EXPECT_DOUBLE_EQ(x[1], x[2]);                 // both are 100 µs
  EXPECT_NEAR(x[1] - x[0], x[3] - x[2], 0.11);  // a decade each
  EXPECT_THAT(svg, HasSubstr(">2.44 ms<"));
  EXPECT_THAT(svg, HasSubstr(">accepted, 8 threads<"));
  EXPECT_THAT(svg, Not(HasSubstr("1,000 fibers")));
}

TEST(ChartsTest, MemoryBarsAreLinear) {
  json buyer = comparison("a buyer in memory", 16, 64);
  buyer["note"] = "5 buyers; others";
  const std::string svg = drawn(report_of({buyer}), "memory");
  const std::vector<double> widths = values(svg, "rect", "width");
  ASSERT_EQ(widths.size(), 5U);  // the background, two keys and two bars
  EXPECT_DOUBLE_EQ(widths[3] * 4, widths[4]);
  EXPECT_THAT(svg, HasSubstr(">16 bytes (8 … 32)<"));
  EXPECT_THAT(svg, HasSubstr(">5 buyers</text>"));
}

TEST(ChartsTest, SocketBarsAreLinear) {
  const std::vector<json> comparisons = {comparison("SET over the socket, pipeline 1", 1, 1),
                                         comparison("SET over the socket, pipeline 128", 3, 2)};
  const std::string svg = drawn(report_of(comparisons), "socket");
  const std::vector<double> heights = values(svg, "rect", "height");
  ASSERT_EQ(heights.size(), 7U);  // the background, four keys and two bars
  EXPECT_DOUBLE_EQ(heights[5] * 1.5, heights[6]);
  EXPECT_THAT(svg, HasSubstr(">1.5<"));
}

TEST(ChartsTest, PredictionsOfClusterAreLogarithmic) {
  std::vector<json> comparisons;
  std::vector<json> figures;
  for (const std::string_view what : {kManyVouchers, kOneVoucher}) {
    comparisons.push_back(comparison(cost_line(kDecided, what, "its master"), 6, 8));
    comparisons.push_back(comparison(cost_line(kStored, what, "its master"), 2, 2));
    for (const int masters : {1, 8, 64}) {
      figures.push_back({{"line", predicted_line(masters, what)},
                         {"unit", "purchases/s"},
                         {"value", masters * 125'000},
                         {"note", ""}});
    }
  }
  const std::string svg = drawn(report_of(comparisons, figures), "cluster");
  const std::vector<double> x = values(svg, "circle", "cx");
  const std::vector<double> y = values(svg, "circle", "cy");
  ASSERT_EQ(x.size(), 6U);
  EXPECT_NEAR(x[1] - x[0], x[2] - x[1], 0.11);
  EXPECT_NEAR(y[0] - y[1], y[1] - y[2], 0.11);
  EXPECT_THAT(svg, HasSubstr(">8 M<"));
  EXPECT_THAT(svg, HasSubstr(">one voucher on one lane: 100 k, with any number of masters<"));
}

}  // namespace
}  // namespace rushgate::bench
