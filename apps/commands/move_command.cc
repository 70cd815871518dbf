#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/commands/command_line.h"
#include "apps/commands/commands.h"
#include "apps/exit_code.h"
#include "apps/order_json.h"
#include "apps/say.h"
#include "apps/text_table.h"
#include <rushgate/move_sale.h>

namespace rushgate {
namespace {

struct MoveArguments {
  SaleArguments sale;
  std::string to;
  bool json = false;
};

void print(const MoveArguments& arguments, const MoveReport& report) {
  if (arguments.json) {
    const nlohmann::ordered_json object = {{"was_done", report.was_done},
                                           {"stored", report.stored},
                                           {"letters", report.letters},
                                           {"waiting", report.waiting},
                                           {"pause_ms", report.pause_ms}};
    fmt::print("{}", dump(object));
    return;
  }
  if (report.was_done) {
    fmt::print("the sale was moved before\n");
    return;
  }
  fmt::print(
      "moved: {} queued orders and changes stored, {} dead letters and {} waiting users copied\n",
      count_text(report.stored), count_text(report.letters), count_text(report.waiting));
  if (report.pause_ms > 0) fmt::print("nothing was sold for {} ms\n", report.pause_ms);
}

int run_move(const MoveArguments& arguments) {
  const auto report = move_to(arguments.sale, arguments.to);
  if (!report.ok()) return fail(report.status());
  print(arguments, *report);
  return kExitOk;
}

}  // namespace

void add_move(CLI::App& app, Invocation& invocation) {
  CLI::App* const command = add_command(
      app, "move",
      "Move a running sale to another keyspace. Nothing is sold meanwhile. Repeat the command\n"
      "if it fails or is interrupted.");
  const auto arguments = std::make_shared<MoveArguments>();
  add_sale_options(*command, arguments->sale);
  command
      ->add_option("--to", arguments->to,
                   "The new keyspace: redis://host:port/db, …, or a directory")
      ->required()
      ->check(not_empty())
      ->type_name("URL");
  command->add_flag("--json", arguments->json, "As a JSON object");
  command->callback([&invocation, arguments] {
    invocation.run = [arguments](const std::shared_ptr<spdlog::logger>& logger) {
      arguments->sale.logger = logger;
      return run_move(*arguments);
    };
  });
}

}  // namespace rushgate
