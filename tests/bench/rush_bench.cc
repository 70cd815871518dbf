// Compares Rushgate with a redis-server in one run: rush_bench [line...], --help.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tests/bench/document.h"
#include "tests/bench/lines.h"
#include "tests/bench/page_figures.h"
#include "tests/bench/part_process.h"

namespace rushgate::bench {

std::span<const Line> lines() {
  static constexpr Line kLines[] = {
      {"admissions", measure_admissions},
      {"batches", measure_batches},
      {"lua", measure_lua},
      {"refusals", measure_refusals},
      {"latency", measure_latency},
      {"memory", measure_memory},
      {"reopening", measure_reopening},
      {"growth", measure_growth},
      {"footprint", measure_footprint},
      {"orders", measure_orders},
      {"retention", measure_retention},
      {"stored", measure_stored},
      {"fibers", measure_fibers},
      {"on_redis", measure_on_redis},
      {"cluster", measure_cluster},
      {"resp", measure_resp},
      {"sale_commands", measure_sale_commands},
      {"http", measure_http},
      {"unread", measure_unread},
#ifdef RUSHGATE_BENCH_DATABASES
      {"databases", measure_databases},
#endif
  };
  return kLines;
}

std::span<const Part> parts() {
  static constexpr Part kParts[] = {
      {"hold-buyers", hold_buyers},
      {"hold-entries", hold_entries},
      {"hold-keys", hold_keys},
      {"sell", sell},
      {"reopen", reopen},
      {"start", start},
      {"idle", idle},
      {"serve", serve},
      {"serve-sale", serve_sale},
      {"serve-http", serve_http},
      {"serve-constant", serve_constant},
      {"serve-node", serve_node},
  };
  return kParts;
}

namespace {

nlohmann::json measure(const std::vector<std::string>& wanted, const Effort& effort) {
  Report report;
  for (const Line& line : lines()) {
    if (wanted.empty() || std::ranges::count(wanted, line.name) > 0) line.measure(effort, report);
  }
  return report.to_json();
}

nlohmann::json read_kept(const std::string& file) {
  std::ifstream in(file);
  if (!file.ends_with(".md")) return nlohmann::json::parse(in);
  return read_figures(std::string(std::istreambuf_iterator<char>(in), {}));
}

/// Reads the results of earlier runs. A line of a later file replaces the line of an earlier one.
nlohmann::json read_all_kept(const std::vector<std::string>& files) {
  nlohmann::json all = Report().to_json();
  for (const std::string& file : files) {
    const nlohmann::json report = read_kept(file);
    for (auto& [kind, lines_of_all] : all.items()) {
      for (const nlohmann::json& line : report.at(kind)) {
        const auto same = std::ranges::find_if(lines_of_all, [&](const nlohmann::json& earlier) {
          return earlier.at("line") == line.at("line");
        });
        if (same == lines_of_all.end()) {
          lines_of_all.push_back(line);
        } else {
          *same = line;
        }
      }
    }
  }
  return all;
}

void write_json(const nlohmann::json& report, const std::string& file) {
  std::ofstream out(file);
  out << report.dump(2) << '\n';
  if (!out.flush()) throw std::runtime_error("cannot write " + file);
}

}  // namespace
}  // namespace rushgate::bench

int main(int argc, char** argv) {
  using namespace rushgate::bench;
  if (run_part_if_told(parts(), argc, argv)) return 0;
  CLI::App app("Measures Rushgate and a redis-server alternately, in one run.");
  std::vector<std::string> wanted;
  std::vector<std::string> names;
  for (const Line& line : lines()) names.emplace_back(line.name);
  Effort effort;
  std::string json_file;
  std::string document_dir;
  std::vector<std::string> kept;
  bool is_list_wanted = false;
  app.add_option("line", wanted, "Lines to measure; default: all")->check(CLI::IsMember(names));
  app.add_option("--rounds", effort.rounds, "Rounds of each measurement")
      ->check(CLI::PositiveNumber);
  app.add_option("--requests", effort.requests, "Requests to Rushgate per round")
      ->check(CLI::PositiveNumber);
  app.add_option("--buyers", effort.buyers, "Buyers in the large sales")
      ->check(CLI::PositiveNumber);
  app.add_option("--idle-seconds", effort.idle_seconds, "Duration of the idle measurement")
      ->check(CLI::PositiveNumber);
  app.add_flag("--list", is_list_wanted, "List the lines and exit");
  app.add_option("--json", json_file, "File for the figures");
  app.add_option("--document", document_dir,
                 "Directory whose performance.md and charts are to show the figures");
  app.add_option("--from", kept,
                 "Files of --json, or performance.md, with the figures; measures nothing")
      ->check(CLI::ExistingFile);
  CLI11_PARSE(app, argc, argv);

  if (is_list_wanted) {
    for (const std::string& name : names) std::puts(name.c_str());
    return 0;
  }
  try {
    const nlohmann::json report = kept.empty() ? measure(wanted, effort) : read_all_kept(kept);
    if (!json_file.empty()) write_json(report, json_file);
    if (!document_dir.empty()) write_document(report, document_dir);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "rush_bench: %s\n", failure.what());
    return 1;
  }
  return 0;
}
