// docs/strategies.md covers every strategy of the program, with charts from the program.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/comparison/charts.h"
#include "apps/comparison/comparison_report.h"
#include "apps/strategies/strategies.h"

namespace rushgate {
namespace {

using strategies::Fault;
using strategies::StrategyKind;
using ::testing::HasSubstr;

const std::filesystem::path kDocs = std::filesystem::path(RUSHGATE_ROOT) / "docs";

std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  EXPECT_TRUE(in) << file;
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns true if the chart shows "none" for the fault.
bool is_none(const std::string& chart, const std::string& fault) {
  const std::size_t label = chart.find(">" + fault + "</text>");
  EXPECT_NE(label, std::string::npos) << fault;
  return chart.substr(label, chart.find('\n', label) - label).find(">none</text>") !=
         std::string::npos;
}

TEST(StrategiesPageTest, PageExplainsEachStrategyWithChart) {
  const std::string page = contents(kDocs / "strategies.md");
  for (const StrategyKind& kind : strategies::all_strategies()) {
    EXPECT_THAT(page, HasSubstr(fmt::format("\n### ({}) ", kind.letter)));
    EXPECT_THAT(page, HasSubstr(fmt::format("](strategies/{}.svg)\n", kind.letter)));
    EXPECT_THAT(page, HasSubstr(fmt::format("\n| {} | {} |", kind.letter, kind.name)));
  }
  EXPECT_THAT(page, HasSubstr("](strategies/rates.svg)\n"));
}

TEST(StrategiesPageTest, ChartsShowKnownFaults) {
  for (const StrategyKind& kind : strategies::all_strategies()) {
    SCOPED_TRACE(kind.letter);
    const std::string chart = contents(kDocs / "strategies" / fmt::format("{}.svg", kind.letter));
    for (const Fault fault : kind.faults) {
      std::string name(comparison::fault_name(fault));
      if (const auto blank = name.find('_'); blank != std::string::npos) name[blank] = ' ';
      EXPECT_FALSE(is_none(chart, name)) << name;
    }
    if (!comparison::is_safe(kind)) continue;
    for (const char* const name : {"oversold", "doubled", "lost", "left behind"}) {
      EXPECT_TRUE(is_none(chart, name)) << name;
    }
  }
}

TEST(ComparisonChartsTest, FaultBarIsShareOfStock) {
  comparison::StrategyResult result{.kind = strategies::find_strategy("c")};
  result.rushes = {{.served = 400, .seconds = 2, .faults = {{Fault::kDoubled, 50}}}};
  const std::string chart = comparison::fault_chart({.stock = 100}, result);
  EXPECT_THAT(chart, HasSubstr("c  optimistic lock, stock &gt; 0: the worst of all rushes"));
  EXPECT_THAT(chart, HasSubstr("width=\"160.0\""));  // half the width of a bar
  EXPECT_THAT(chart, HasSubstr(">50</text>"));
  EXPECT_TRUE(is_none(chart, "oversold"));
  EXPECT_THAT(comparison::rate_chart({result}), HasSubstr(">200</text>"));
}

}  // namespace
}  // namespace rushgate
