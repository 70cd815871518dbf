#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "apps/commands/command_line.h"
#include "apps/commands/commands.h"
#include "apps/comparison/charts.h"
#include "apps/comparison/child.h"
#include "apps/comparison/comparison.h"
#include "apps/comparison/comparison_report.h"
#include "apps/comparison/run_job.h"
#include "apps/exit_code.h"
#include "apps/progress_bar.h"
#include "apps/signals.h"
#include "apps/strategies/strategies.h"
#include "apps/text_table.h"
#include "engine/core/base/status_macros.h"

namespace rushgate {
namespace {

namespace fs = std::filesystem;
using comparison::Comparison;
using comparison::ComparisonOptions;
using comparison::ComparisonProgress;
using comparison::StrategyResult;
using strategies::StrategyKind;

struct StrategiesArguments {
  ComparisonOptions options;
  std::vector<std::string> only;
  fs::path charts;  // empty: none
  bool json = false;
  bool is_child = false;
};

/// Returns the strategies with these letters, or all if the list is empty. "k" stands for both "k1"
/// and "k2".
std::vector<const StrategyKind*> chosen(const std::vector<std::string>& letters) {
  std::vector<const StrategyKind*> kinds;
  for (const StrategyKind& kind : strategies::all_strategies()) {
    const bool is_chosen =
        std::any_of(letters.begin(), letters.end(), [&](const std::string& letter) {
          return kind.letter == letter || (letter.size() == 1 && kind.letter.starts_with(letter));
        });
    if (letters.empty() || is_chosen) kinds.push_back(&kind);
  }
  return kinds;
}

/// A temporary directory that is removed with this object.
class ScratchDirectory {
 public:
  static absl::StatusOr<fs::path> make() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "rushgate-strategies-XXXXXX").string();
    if (error || mkdtemp(name.data()) == nullptr) {
      return absl::UnavailableError("cannot create the directory " + name);
    }
    return fs::path(name);
  }
  explicit ScratchDirectory(fs::path path) : path_(std::move(path)) {}
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

 private:
  const fs::path path_;
};

/// Returns true if a strategy failed that is listed as safe.
bool has_surprise(const std::vector<StrategyResult>& results) {
  using strategies::Fault;
  for (const StrategyResult& result : results) {
    if (!comparison::is_safe(*result.kind)) continue;
    for (const Fault fault :
         {Fault::kOversold, Fault::kDoubled, Fault::kLost, Fault::kLeftBehind}) {
      if (result.worst(fault) > 0) return true;
    }
  }
  return false;
}

absl::StatusOr<std::vector<StrategyResult>> compare(const StrategiesArguments& arguments,
                                                    const ComparisonOptions& options) {
  ASSIGN_OR_RETURN(auto opened, Comparison::open(options, chosen(arguments.only)));
  ProgressBar bar;
  return opened->run([&](const ComparisonProgress& progress) {
    bar.show(progress.served, progress.clicks, [&] {
      return fmt::format("{} of {} clicks; {}", grouped(static_cast<std::int64_t>(progress.served)),
                         grouped(static_cast<std::int64_t>(progress.clicks)), progress.doing);
    });
  });
}

int run_strategies(const StrategiesArguments& arguments) {
  ignore_closed_pipes();  // a killed child does not read its input any more
  note_interrupts();
  ComparisonOptions options = arguments.options;
  std::optional<ScratchDirectory> scratch;
  if (options.dir.empty()) {
    const auto made = ScratchDirectory::make();
    if (!made.ok()) return fail(made.status());
    options.dir = *made;
    scratch.emplace(*made);
  }
  const auto results = compare(arguments, options);
  if (absl::IsCancelled(results.status())) return kExitSignal + interrupt_signal();
  if (!results.ok()) return fail(results.status());
  std::cout << (arguments.json ? to_json(options, *results).dump(2) + "\n"
                               : format_comparison(options, *results));
  if (!arguments.charts.empty()) {
    const absl::Status written = comparison::write_charts(arguments.charts, options, *results);
    if (!written.ok()) return fail(written);
  }
  return has_surprise(*results) ? kExitNegative : kExitOk;
}

int run_child() { return comparison::run_job() ? kExitOk : kExitFailure; }

}  // namespace

void add_strategies(CLI::App& app, Invocation& invocation) {
  CLI::App* const command = add_command(
      app, "strategies",
      "Compare the classic ways to sell a voucher: the same rush for each, its faults, and\n"
      "the state after the program is killed half-way.");
  const auto arguments = std::make_shared<StrategiesArguments>();
  ComparisonOptions& options = arguments->options;
  command->add_option("--users", options.users, "Users; each clicks twice")
      ->check(number_from(10, 1'000'000))
      ->capture_default_str()
      ->type_name("N");
  command->add_option("--stock", options.stock, "Stock of the voucher")
      ->check(number_from(10, 1'000'000))
      ->capture_default_str()
      ->type_name("N");
  command->add_option("--threads", options.threads, "Threads that serve clicks")
      ->check(number_from(2, 64))
      ->capture_default_str()
      ->type_name("N");
  command->add_option("--seed", options.seed, "Seed of the order of the clicks")
      ->check(number_from(0, std::numeric_limits<std::uint64_t>::max()))
      ->capture_default_str()
      ->type_name("N");
  command
      ->add_option("--dir", options.dir,
                   "Directory of the files while it runs (default: temporary)")
      ->check(not_empty())
      ->type_name("DIR");
  command
      ->add_option("--keyspace,--redis", options.redis_url,
                   "A Redis for the strategies that use one (default: in the process, on disk)")
      ->check(not_empty())
      ->type_name("URL");
  command->add_option("--only", arguments->only, "Only the strategies with these letters: a,b")
      ->delimiter(',')
      ->check([](const std::string& letter) {
        return chosen({letter}).empty() ? "there is no strategy " + letter : std::string();
      })
      ->type_name("LETTERS");
  command
      ->add_option("--charts", arguments->charts,
                   "Also write SVG charts of the results to this directory")
      ->check(not_empty())
      ->type_name("DIR");
  command->add_flag("--json", arguments->json, "The table as JSON");
  command->add_flag(comparison::kChildOption, arguments->is_child)->group("");
  command->callback([&invocation, arguments] {
    invocation.run = [arguments](const std::shared_ptr<spdlog::logger>&) {
      return arguments->is_child ? run_child() : run_strategies(*arguments);
    };
  });
}

}  // namespace rushgate
