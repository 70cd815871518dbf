#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/commands/command_line.h"
#include "apps/commands/commands.h"
#include "apps/exit_code.h"
#include "apps/order_json.h"
#include "apps/progress_bar.h"
#include "apps/signals.h"
#include "engine/core/base/status_macros.h"
#include <rushgate/copy_orders.h>
#include <rushgate/open_order_store.h>

namespace rushgate {
namespace {

struct CopyArguments {
  std::string from;
  std::string to;
  std::size_t portion = CopyOrdersOptions().portion;
  bool json = false;
};

absl::StatusOr<CopyReport> copy_between(const CopyArguments& arguments,
                                        const std::shared_ptr<spdlog::logger>& logger) {
  ASSIGN_OR_RETURN(const auto from, open_order_store(arguments.from, {.create_if_missing = false,
                                                                      .logger = logger}));
  ASSIGN_OR_RETURN(const auto to, open_order_store(arguments.to, {.logger = logger}));
  note_interrupts();
  ProgressBar bar;
  const auto show = [&](const CopyProgress& progress) {
    bar.show(static_cast<std::size_t>(progress.records),
             static_cast<std::size_t>(progress.records_total),
             [&] { return fmt::format("{} records compared", progress.records); });
    return interrupt_signal() == 0
               ? absl::OkStatus()
               : absl::CancelledError("interrupted: the same command continues");
  };
  return copy_orders(*from, *to, {.portion = arguments.portion, .between_portions = show});
}

int run_copy(const CopyArguments& arguments, const std::shared_ptr<spdlog::logger>& logger) {
  const auto report = copy_between(arguments, logger);
  if (interrupt_signal() != 0 && !report.ok()) return kExitSignal + interrupt_signal();
  if (absl::IsAborted(report.status())) {
    fail(report.status());
    return kExitNegative;
  }
  if (!report.ok()) return fail(report.status());
  if (arguments.json) {
    const nlohmann::ordered_json object = {
        {"was_complete", report->was_complete}, {"orders", report->orders},
        {"payments", report->payments},         {"changes", report->changes},
        {"versions", report->versions},         {"written", report->written}};
    fmt::print("{}", dump(object));
  } else if (report->was_complete) {
    fmt::print("nothing to do: the copy was complete, and may have been sold with since\n");
  } else {
    fmt::print(
        "copied and compared: {} orders, {} payments, {} changes, {} versions of vouchers; {} "
        "records written by this run\nthe old database is closed: open the sale with the new one\n",
        report->orders, report->payments, report->changes, report->versions, report->written);
  }
  return kExitOk;
}

}  // namespace

void add_copy_of_orders(CLI::App& orders, Invocation& invocation) {
  CLI::App* const command = add_command(
      orders, "copy",
      "Move the order database FROM to the empty one TO, both as in --orders. After an\n"
      "interruption, the same command continues");
  const auto arguments = std::make_shared<CopyArguments>();
  for (const auto& [name, url] : {std::pair("from", &arguments->from), {"to", &arguments->to}}) {
    command->add_option(name, *url, "sqlite:path, postgresql://… or mysql://…")
        ->required()
        ->check(not_empty())
        ->type_name("URL");
  }
  command->add_option("--portion", arguments->portion, "How many records are in memory at a time")
      ->check(number_from(1, 100'000))
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "As a JSON object");
  command->callback([&invocation, arguments] {
    invocation.run = [arguments](const std::shared_ptr<spdlog::logger>& logger) {
      return run_copy(*arguments, logger);
    };
  });
}

}  // namespace rushgate
