#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "adapters/flash_sale/sale_directory.h"
#include "apps/commands/command_line.h"
#include "apps/commands/commands.h"
#include "apps/commands/run_replay.h"
#include "apps/demo/second_act.h"
#include "apps/exit_code.h"
#include "apps/input/demo_input.h"
#include "apps/order_json.h"
#include "apps/say.h"
#include "apps/signals.h"

namespace rushgate {
namespace {

namespace fs = std::filesystem;

struct DemoArguments {
  DemoOptions input;
  ReplayArguments replay;
  bool fast = false;
  bool json = false;
};

/// Returns `rushgate-demo` in the current directory. If that is not writable, it is in the
/// directory for temporary files.
fs::path default_directory() {
  constexpr const char* kName = "rushgate-demo";
  std::error_code ignored;
  if (access(".", W_OK) == 0) return kName;
  return fs::temp_directory_path(ignored) / kName;
}

/// Returns when the late voucher begins: well within the rush.
std::int64_t late_ms(const DemoArguments& arguments) {
  constexpr std::int64_t kFastMs = 200;
  return arguments.fast ? kFastMs : arguments.input.seconds * 1'000 * 2 / 5;
}

/// Sells and pays on the sale of the first act. In JSON, its report is a field of the first one's.
int run_second_act(const DemoArguments& arguments, const Report& first) {
  SaleArguments options = arguments.replay.sale;
  options.create = true;
  const auto sale = open_sale(options);
  if (!sale.ok()) return fail(sale.status());
  const auto second = patiently(options.patience, [&] { return SecondAct(**sale).run(); });
  if (arguments.json) {
    nlohmann::ordered_json json = to_json(first);
    if (second.ok()) json["second_act"] = to_json(*second);
    fmt::print("{}", dump(json));
  } else if (second.ok()) {
    fmt::print("\n{}", format_second_act(*second));
  }
  if (second.ok()) return second->audit.passed() ? kExitOk : kExitNegative;
  if (!absl::IsCancelled(second.status())) return fail(second.status());
  say("interrupted: run the same command to continue\n");
  return kExitSignal + interrupt_signal();
}

int run_demo(DemoArguments& arguments) {
  ReplayArguments& replay = arguments.replay;
  if (replay.sale.dir.empty()) replay.sale.dir = default_directory();
  const fs::path& dir = replay.sale.dir;
  if (const absl::Status made = create_sale_directory(dir); !made.ok()) return fail(made);
  const auto files = write_demo(dir, arguments.input, SystemClock().now_ms(), late_ms(arguments));
  if (!files.ok()) return fail(files.status());
  say("the demo's sale is in {}{}\n", fs::absolute(dir).lexically_normal().string(),
      files->reused ? "; remove it to start from scratch" : "");
  replay.requests = files->requests;
  replay.vouchers = files->vouchers;
  replay.real_time = !arguments.fast;
  const ReplayEnd first = run_replay(replay);
  if (!first.report) return first.exit_code;
  const bool has_second = first.exit_code == kExitOk && interrupt_signal() == 0;
  if (!has_second || !arguments.json) print_report(*first.report, arguments.json);
  return has_second ? run_second_act(arguments, *first.report) : first.exit_code;
}

}  // namespace

void add_demo(CLI::App& app, Invocation& invocation) {
  CLI::App* const command = add_command(
      app, "demo",
      "A rush of 200,000 requests of 50,000 users on three vouchers, of 1,000, 5,000 and 20.\n"
      "Then a sale of 1,000 tickets that must be paid within a second. Kill it half-way, and\n"
      "start it again.");
  const auto arguments = std::make_shared<DemoArguments>();
  add_sale_options(*command, arguments->replay.sale);
  command->get_option("--dir")->required(false)->description(
      "The demo's directory (default: rushgate-demo in the current directory)");
  add_selling_options(*command, arguments->replay.sale);
  command->add_option("--seed", arguments->input.seed, "Seed of the generated requests")
      ->check(number_from(0, std::numeric_limits<std::uint64_t>::max()))
      ->capture_default_str()
      ->type_name("N");
  command->add_option("--seconds", arguments->input.seconds, "Duration of the rush")
      ->check(number_from(1, 86'400))
      ->capture_default_str()
      ->type_name("N");
  command->add_option("--requests", arguments->input.requests, "Number of requests")
      ->check(number_from(50'000, 100'000'000))
      ->capture_default_str()
      ->type_name("N");
  command->add_flag("--fast", arguments->fast, "Run at full speed, not in real time");
  command->add_flag("--json", arguments->json, "The tables as JSON");
  command->callback([&invocation, command, arguments] {
    check_durability(arguments->replay.sale, *command);
    invocation.run = [arguments](const std::shared_ptr<spdlog::logger>& logger) {
      arguments->replay.sale.logger = logger;
      return run_demo(*arguments);
    };
  });
}

}  // namespace rushgate
