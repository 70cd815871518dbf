#include <chrono>
#include <memory>
#include <thread>

#include <CLI/CLI.hpp>

#include "apps/commands/command_line.h"
#include "apps/commands/commands.h"
#include "apps/exit_code.h"
#include "apps/say.h"
#include "apps/signals.h"
#include "apps/text_table.h"

namespace rushgate {
namespace {

/// Waits for a signal. Returns the error of a keyspace that is unusable for good.
absl::Status wait_for_interrupt(const FlashSale& sale) {
  constexpr std::chrono::milliseconds kLook{50};
  while (interrupt_signal() == 0) {
    if (absl::Status health = sale.health(); !health.ok() && !may_pass(health)) return health;
    std::this_thread::sleep_for(kLook);
  }
  return absl::OkStatus();
}

int run_work(const SaleArguments& arguments) {
  note_interrupts();
  const auto sale = open_sale(arguments);
  if (!sale.ok()) return fail(sale.status());
  const absl::Status started =
      patiently(arguments.patience, [&] { return (*sale)->start_workers(); });
  if (!started.ok()) return fail(started);
  say("storing orders until SIGINT or SIGTERM\n");
  const absl::Status ended = wait_for_interrupt(**sale);
  (*sale)->stop_workers();
  say("{} orders stored, {} dead letters\n", count_text((*sale)->stored()),
      count_text((*sale)->buried()));
  return ended.ok() ? kExitOk : fail(ended);
}

}  // namespace

void add_work(CLI::App& app, Invocation& invocation) {
  CLI::App* const command = add_command(
      app, "work",
      "Store the orders that others admit on the same keyspace, until SIGINT or SIGTERM.\n"
      "The exit code is then 0. Sells nothing.");
  const auto arguments = std::make_shared<SaleArguments>();
  add_sale_options(*command, *arguments);
  add_selling_options(*command, *arguments);
  command->callback([&invocation, arguments, command] {
    check_durability(*arguments, *command);
    invocation.run = [arguments](const std::shared_ptr<spdlog::logger>& logger) {
      arguments->logger = logger;
      return run_work(*arguments);
    };
  });
}

}  // namespace rushgate
