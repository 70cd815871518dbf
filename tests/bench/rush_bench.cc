// Rushgate beside a redis-server, in one run: rush_bench [line...] [--rounds N] [--json FILE].
#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tests/bench/lines.h"

namespace rushgate::bench {

std::span<const Line> lines() {
  static constexpr Line kLines[] = {
      {"admissions", measure_admissions}, {"lua", measure_lua},
      {"refusals", measure_refusals},     {"latency", measure_latency},
      {"orders", measure_orders},         {"stored", measure_stored},
      {"fibers", measure_fibers},
  };
  return kLines;
}

}  // namespace rushgate::bench

int main(int argc, char** argv) {
  using namespace rushgate::bench;
  CLI::App app("Measures Rushgate and a redis-server alternately, in one run.");
  std::vector<std::string> wanted;
  std::vector<std::string> names;
  for (const Line& line : lines()) names.emplace_back(line.name);
  Effort effort;
  std::string json_file;
  app.add_option("line", wanted, "What to measure; everything if left out")
      ->check(CLI::IsMember(names));
  app.add_option("--rounds", effort.rounds, "How often each is measured")
      ->check(CLI::PositiveNumber);
  app.add_option("--requests", effort.requests, "Of ours in a round")->check(CLI::PositiveNumber);
  app.add_option("--buyers", effort.buyers, "Of the large sales")->check(CLI::PositiveNumber);
  app.add_option("--json", json_file, "Where to write the figures");
  CLI11_PARSE(app, argc, argv);

  Report report;
  for (const Line& line : lines()) {
    if (wanted.empty() || std::ranges::count(wanted, line.name) > 0) line.measure(effort, report);
  }
  if (!json_file.empty()) {
    std::ofstream out(json_file);
    out << report.to_json().dump(2) << '\n';
    if (!out.flush()) {
      std::fprintf(stderr, "rush_bench: cannot write %s\n", json_file.c_str());
      return 1;
    }
  }
  return 0;
}
