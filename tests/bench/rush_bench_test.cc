// Checks that rush_bench measures every line that it lists. It uses the least effort possible, so
// the figures are meaningless.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/command_output.h"
#include "tests/support/temporary_directory.h"

namespace rushgate {
namespace {

/// Returns the output of rush_bench.
std::string run_rush_bench(const std::string& arguments) {
  int status = 0;
  std::string output = testing::output_of("'" RUSH_BENCH "' " + arguments, &status);
  EXPECT_EQ(status, 0) << arguments << '\n' << output;
  return output;
}

std::vector<std::string> listed_lines() {
  std::istringstream output(run_rush_bench("--list"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(output, line);) lines.push_back(line);
  return lines;
}

void expect_positive(const nlohmann::json& number, const std::string& what) {
  ASSERT_TRUE(number.is_number()) << what << ": " << number;  // null: it was not finite
  EXPECT_GT(number.get<double>(), 0) << what;
}

void expect_figures(const std::string& line) {
  const TemporaryDirectory scratch;
  const std::string file = (scratch.path() / "figures.json").string();
  const std::string output =
      run_rush_bench(line + " --rounds 1 --requests 8000 --buyers 8000 --idle-seconds 0.01" +
                     " --json '" + file + "'");
  std::ifstream in(file);
  const nlohmann::json json = nlohmann::json::parse(in, nullptr, /*allow_exceptions=*/false);
  ASSERT_TRUE(json.is_object()) << output;
  const nlohmann::json& comparisons = json.at("comparisons");
  const nlohmann::json& figures = json.at("figures");
  EXPECT_GT(comparisons.size() + figures.size(), 0U) << output;
  for (const nlohmann::json& comparison : comparisons) {
    const std::string what = comparison.at("line");
    for (const char* const side : {"ours", "peer"}) {
      for (const char* const figure : {"median", "min", "max"}) {
        expect_positive(comparison.at(side).at(figure), what + ", " + side + ", " + figure);
      }
    }
    expect_positive(comparison.at("ratio"), what);
  }
  for (const nlohmann::json& figure : figures) {
    expect_positive(figure.at("value"), figure.at("line"));
  }
}

TEST(RushBenchTest, EveryLineHasFigures) {
  const std::vector<std::string> lines = listed_lines();
  EXPECT_FALSE(lines.empty());
  for (const std::string& line : lines) {
    SCOPED_TRACE(line);
    expect_figures(line);
  }
}

TEST(RushBenchTest, StoredFiguresAppearInPageAndCharts) {
  const TemporaryDirectory scratch;
  const auto write = [&](const char* file, const std::string& text) {
    std::ofstream(scratch.path() / file) << text;
  };
  const auto read = [&](const char* file) {
    std::ostringstream text;
    text << std::ifstream(scratch.path() / file).rdbuf();
    return text.str();
  };
  const auto comparison = [](const std::string& line, double ratio) {
    const nlohmann::json samples = {{"median", 2.0}, {"min", 1.0}, {"max", 3.0}, {"rounds", 3}};
    return nlohmann::json{{"line", line},      {"unit", "u"},     {"ours_is", "this"},
                          {"peer_is", "that"}, {"ours", samples}, {"peer", samples},
                          {"ratio", ratio},    {"note", ""},      {"target", 5}};
  };
  const nlohmann::json first = {{"comparisons", {comparison("a < b", 12)}},
                                {"figures", nlohmann::json::array()}};
  const nlohmann::json second = {
      {"comparisons", {comparison("slower", 0.5), comparison("a buyer in memory", 4)}},
      {"figures", {{{"line", "size"}, {"unit", "bytes"}, {"value", 7}, {"note", "small"}}}}};
  write("first.json", first.dump());
  write("second.json", second.dump());
  write("performance.md",
        "Machine: small\n<!-- figures -->\nold\n<!-- end of figures -->\nafter\n");

  const std::string dir = scratch.path().string();
  run_rush_bench("--from '" + dir + "/first.json' '" + dir + "/second.json' --document '" + dir +
                 "'");

  const std::string page = read("performance.md");
  EXPECT_TRUE(page.starts_with("Machine: small\n<!-- figures -->\n"));
  EXPECT_TRUE(page.ends_with("<!-- end of figures -->\nafter\n"));
  for (const char* const row :
       {"| a < b | 2 u (1 … 3) | 2 u (1 … 3) | 12 | 5 |", "| slower |",
        "| size | 7 bytes |  | small |", "- slower: this; compared with that."}) {
    EXPECT_NE(page.find(row), std::string::npos) << row << '\n' << page;
  }
  EXPECT_EQ(page.find("old"), std::string::npos);
  const std::string chart = read("performance/memory.svg");
  EXPECT_TRUE(chart.starts_with("<svg ") && chart.ends_with("</svg>\n"));
  EXPECT_NE(chart.find(">2 bytes (1 … 3)<"), std::string::npos);

  // The page is itself a source of figures. Lines of later files replace its own.
  write("third.json", nlohmann::json{{"comparisons", {comparison("slower", 0.25)}},
                                     {"figures", nlohmann::json::array()}}
                          .dump());
  run_rush_bench("--from '" + dir + "/performance.md' '" + dir + "/third.json' --document '" + dir +
                 "'");
  std::string expected = page;
  const std::size_t ratio = expected.find("| 0.5 |");
  ASSERT_NE(ratio, std::string::npos);
  expected.replace(ratio, 7, "| 0.25 |");
  EXPECT_EQ(read("performance.md"), expected);
}

}  // namespace
}  // namespace rushgate
