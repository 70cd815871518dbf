#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "adapters/flash_sale/sale_directory.h"
#include "apps/commands/command_line.h"
#include "apps/commands/commands.h"
#include "apps/commands/http_address.h"
#include "apps/commands/run_replay.h"
#include "apps/demo/demo_pages.h"
#include "apps/demo/second_act.h"
#include "apps/exit_code.h"
#include "apps/input/demo_input.h"
#include "apps/order_json.h"
#include "apps/say.h"
#include "apps/signals.h"
#include "engine/core/base/status_macros.h"
#include <rushgate/flash_sale.h>
#include <rushgate/http_server.h>

namespace rushgate {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHttpAddress = "127.0.0.1:8080";

struct DemoArguments {
  DemoOptions input;
  ReplayArguments replay;
  bool fast = false;
  bool json = false;
  std::optional<HttpServerOptions> http;  // of --http
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

/// Keeps the pages open until SIGINT or SIGTERM. Returns an exit code.
int keep_serving(DemoArguments& arguments) {
  const auto sale = open_sale(arguments.replay.sale);
  if (!sale.ok()) return fail(sale.status());
  if (const absl::Status started = (*sale)->start_workers(); !started.ok()) return fail(started);
  const auto server = serve_demo(**sale, *arguments.http, false);
  if (!server.ok()) return fail(server.status());
  say("the pages stay open until Ctrl+C\n");
  constexpr std::chrono::milliseconds kLook{50};
  while (interrupt_signal() == 0) std::this_thread::sleep_for(kLook);
  return kExitOk;
}

/// Sells and pays on the sale of the first act. In JSON, its report is a field of the first one's.
int run_second_act(DemoArguments& arguments, const Report& first) {
  SaleArguments options = arguments.replay.sale;
  options.create = true;
  const auto sale = open_sale(options);
  if (!sale.ok()) return fail(sale.status());
  std::unique_ptr<HttpServer> server;
  if (arguments.http) {
    auto served = serve_demo(**sale, *arguments.http, false);
    if (!served.ok()) return fail(served.status());
    server = *std::move(served);
  }
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
  if (arguments.http) {
    replay.accompany =
        [&arguments](FlashSale& sale) -> absl::StatusOr<std::shared_ptr<const void>> {
      ASSIGN_OR_RETURN(auto server, serve_demo(sale, *arguments.http, true));
      return std::shared_ptr<const void>(std::move(server));
    };
  }
  const ReplayEnd first = run_replay(replay);
  if (!first.report) return first.exit_code;
  const bool has_second = first.exit_code == kExitOk && interrupt_signal() == 0;
  if (!has_second || !arguments.json) print_report(*first.report, arguments.json);
  const int exit_code = has_second ? run_second_act(arguments, *first.report) : first.exit_code;
  if (!arguments.http || exit_code != kExitOk || interrupt_signal() != 0) return exit_code;
  return keep_serving(arguments);
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
  command->parse_complete_callback({});  // it has a default directory
  command->get_option("--dir")->description(
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
  command
      ->add_option_function<std::string>(
          "--http",
          [arguments](const std::string& text) {
            arguments->http = parse_http_address(text.empty() ? kHttpAddress : text);
          },
          "Serve the pages on this address meanwhile, and after that until Ctrl+C")
      ->expected(0, 1)
      ->default_str(kHttpAddress)
      ->type_name("A:PORT");
  command->callback([&invocation, command, arguments] {
    check_durability(arguments->replay.sale, *command);
    invocation.run = [arguments](const std::shared_ptr<spdlog::logger>& logger) {
      arguments->replay.sale.logger = logger;
      return run_demo(*arguments);
    };
  });
}

}  // namespace rushgate
