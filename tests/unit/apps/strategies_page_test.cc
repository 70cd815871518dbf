// docs/strategies.md covers every strategy of the program, and its charts show its table.
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/comparison/charts.h"
#include "apps/comparison/comparison_report.h"
#include "apps/strategies/strategies.h"
#include "tests/support/patterns.h"
#include "tests/support/temporary_directory.h"

namespace rushgate {
namespace {

using comparison::StrategyResult;
using strategies::Fault;
using strategies::StrategyKind;
using ::testing::HasSubstr;

const std::filesystem::path kDocs = std::filesystem::path(RUSHGATE_ROOT) / "docs";

std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  EXPECT_TRUE(in) << file;
  return {std::istreambuf_iterator<char>(in), {}};
}

std::int64_t number(std::string text) {
  std::erase(text, ',');
  return text.empty() ? 0 : std::stoll(text);
}

/// Returns the results in the table of the page: rates and faults.
std::vector<StrategyResult> results_of(const std::string& page) {
  constexpr const char* kRow = R"(\n\| (\w+) \| [^|]* \| ([\d,]+)/s \|[^|]*\|[^|]*\|(.*)\|)";
  std::vector<StrategyResult> results;
  for (const std::vector<std::string>& row : testing::find_groups(page, kRow)) {
    const std::string& letter = row[1];
    StrategyResult result{.kind = strategies::find_strategy(letter)};
    EXPECT_NE(result.kind, nullptr) << letter;
    result.rushes = {{.served = number(row[2]), .seconds = 1}};
    std::istringstream cells(row[3]);
    for (const Fault fault : comparison::kFaults) {
      std::string cell;
      std::getline(cells, cell, '|');
      std::erase(cell, ' ');
      result.rushes.front().faults[fault] = number(cell);
    }
    results.push_back(std::move(result));
  }
  return results;
}

TEST(StrategiesPageTest, PageExplainsEachStrategy) {
  const std::string page = contents(kDocs / "strategies.md");
  for (const StrategyKind& kind : strategies::all_strategies()) {
    EXPECT_THAT(page, HasSubstr(fmt::format("\n### ({}) ", kind.letter)));
    EXPECT_THAT(page, HasSubstr(fmt::format("\n| {} | {} |", kind.letter, kind.name)));
  }
}

TEST(StrategiesPageTest, TableShowsKnownFaults) {
  const std::vector<StrategyResult> results = results_of(contents(kDocs / "strategies.md"));
  EXPECT_EQ(results.size(), strategies::all_strategies().size());
  for (const StrategyResult& result : results) {
    SCOPED_TRACE(result.kind->letter);
    for (const Fault fault : result.kind->faults) {
      EXPECT_GT(result.worst(fault), 0) << comparison::fault_name(fault);
    }
    if (!comparison::is_safe(*result.kind)) continue;
    for (const Fault fault : comparison::kFaults) {
      if (comparison::is_unsafe(fault)) {
        EXPECT_EQ(result.worst(fault), 0) << comparison::fault_name(fault);
      }
    }
  }
}

TEST(StrategiesPageTest, ChartsShowTable) {
  const std::vector<StrategyResult> results = results_of(contents(kDocs / "strategies.md"));
  const TemporaryDirectory drawn;
  ASSERT_TRUE(comparison::write_charts(drawn.path(), {.stock = 200}, results).ok());
  for (const char* const chart : {"rates.svg", "faults.svg"}) {
    EXPECT_EQ(contents(kDocs / "strategies" / chart), contents(drawn.path() / chart))
        << "Measure again: rushgate strategies --charts docs/strategies";
  }
}

/// Returns the widths of the bars.
std::vector<double> bar_widths(const std::string& chart) {
  std::vector<double> widths;
  for (const std::string& width : testing::find_all(chart, "<rect x=[^>]* width=\"([0-9.]+)\"")) {
    widths.push_back(std::stod(width));
  }
  return widths;
}

TEST(ComparisonChartsTest, BarsAreLogarithmic) {
  StrategyResult slow{.kind = strategies::find_strategy("a")};
  StrategyResult fast{.kind = strategies::find_strategy("c")};
  slow.rushes = {{.served = 10, .seconds = 1}};
  fast.rushes = {{.served = 1'000, .seconds = 1}};
  const std::string chart = comparison::rate_chart({slow, fast});
  const std::vector<double> widths = bar_widths(chart);
  ASSERT_EQ(widths.size(), 2U);
  EXPECT_NEAR(widths[1] / widths[0], std::log10(200) / std::log10(2), 0.01);  // from 5
  for (const char* const tick : {">10</text>", ">100</text>", ">1,000</text>"}) {
    EXPECT_THAT(chart, HasSubstr(tick));
  }
}

TEST(ComparisonChartsTest, FaultChartOmitsWhatIsZero) {
  StrategyResult result{.kind = strategies::find_strategy("c")};
  result.rushes = {{.served = 400, .seconds = 2, .faults = {{Fault::kDoubled, 50}}}};
  const std::string chart = comparison::fault_chart({.stock = 100}, {result});
  EXPECT_THAT(chart, HasSubstr(">c  optimistic lock, stock &gt; 0: doubled</text>"));
  EXPECT_EQ(bar_widths(chart).size(), 1U);
}

}  // namespace
}  // namespace rushgate
