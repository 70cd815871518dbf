#include <algorithm>
#include <memory>
#include <thread>

#include <CLI/CLI.hpp>

#include "apps/commands/command_line.h"
#include "apps/commands/commands.h"
#include "apps/commands/run_replay.h"

namespace rushgate {
namespace {

int default_threads() {
  constexpr int kUseful = 4;
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kUseful);
}

struct ReplayCommand {
  ReplayArguments replay;
  bool json = false;
};

int run(const ReplayCommand& command) {
  const ReplayEnd end = run_replay(command.replay);
  if (end.report) print_report(*end.report, command.json);
  return end.exit_code;
}

void check(const ReplayArguments& arguments, const CLI::App& command) {
  const SaleArguments& sale = arguments.sale;
  check_durability(sale, command);
  if (sale.durability != Durability::kMemory) check_place(sale);
}

}  // namespace

void add_replay(CLI::App& app, Invocation& invocation) {
  CLI::App* const command = add_command(app, "replay",
                                        "Sell vouchers to the requests in a file, which may also "
                                        "pay and cancel. After an interruption, the same command\n"
                                        "continues. After completion, it prints the table again.");
  const auto whole = std::make_shared<ReplayCommand>();
  ReplayArguments* const arguments = &whole->replay;
  arguments->threads = default_threads();
  command->add_option("requests", arguments->requests, "CSV: at_ms,user_id,voucher_id[,event]")
      ->required()
      ->type_name("REQUESTS.CSV");
  command->add_option("--vouchers", arguments->vouchers, "JSON: an array of vouchers")
      ->required()
      ->type_name("VOUCHERS.JSON");
  add_sale_options(*command, arguments->sale);
  command->parse_complete_callback({});  // see check()
  command->get_option("--dir")->description(
      "The sale's directory, created if missing; not used with --durability memory");
  add_selling_options(*command, arguments->sale);
  command->add_option("--threads", arguments->threads, "Threads that buy")
      ->check(number_from(1, 256))
      ->capture_default_str()
      ->type_name("N");
  command->add_option("--batch", arguments->batch, "Requests per call of a thread")
      ->check(number_from(1, 10'000))
      ->capture_default_str()
      ->type_name("N");
  command->add_flag("--real-time", arguments->real_time,
                    "Send each request at its time, not at full speed");
  command->add_flag("--skip-bad", arguments->skip_bad, "Skip malformed lines and count them");
  command->add_flag("--json", whole->json, "The table as JSON");
  command->callback([&invocation, command, whole] {
    check(whole->replay, *command);
    invocation.run = [whole](const std::shared_ptr<spdlog::logger>& logger) {
      whole->replay.sale.logger = logger;
      return run(*whole);
    };
  });
}

}  // namespace rushgate
