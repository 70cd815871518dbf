#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/commands/command_line.h"
#include "apps/commands/commands.h"
#include "apps/exit_code.h"
#include "apps/order_json.h"
#include "apps/say.h"
#include "apps/service/sale_at_service.h"
#include "apps/text_table.h"

namespace rushgate {
namespace {

struct ArchiveArguments {
  SaleArguments sale;
  VoucherId voucher = 0;
  std::string discard_reason;  // empty: a dead letter forbids it
  bool deletes = false;
  bool json = false;
};

void print(const ArchiveArguments& arguments, std::optional<std::size_t> deleted) {
  if (arguments.json) {
    nlohmann::ordered_json object = {{"voucher", arguments.voucher}, {"archived", true}};
    if (deleted) object["deleted"] = *deleted;
    fmt::print("{}", dump(object));
    return;
  }
  fmt::print("voucher {} is archived\n", arguments.voucher);
  if (deleted) {
    fmt::print("{} archived orders are deleted\n", grouped(static_cast<std::int64_t>(*deleted)));
  }
}

/// Prints why a voucher cannot be archived. Returns the exit code.
int refuse_archiving(const absl::Status& refusal) {
  say("rushgate: {}\n", std::string(refusal.message()));
  return kExitNegative;
}

int archive_at_service(const ArchiveArguments& arguments) {
  const auto service = service_of(arguments.sale);
  if (!service.ok()) return fail(service.status());
  const auto deleted = patiently(arguments.sale.patience, [&] {
    return archive_at(*service, arguments.voucher, arguments.discard_reason, arguments.deletes);
  });
  if (absl::IsFailedPrecondition(deleted.status())) return refuse_archiving(deleted.status());
  if (!deleted.ok()) return refuse_voucher_at(*service, arguments.voucher, deleted.status());
  print(arguments, *deleted);
  return kExitOk;
}

int run_archive(const ArchiveArguments& arguments) {
  if (!arguments.sale.server.empty()) return archive_at_service(arguments);
  const auto sale = open_sale(arguments.sale);
  if (!sale.ok()) return fail(sale.status());
  const absl::Status archived = patiently(arguments.sale.patience, [&] {
    return (*sale)->sale().archive(arguments.voucher,
                                   {.discard_dead_letters = arguments.discard_reason});
  });
  if (absl::IsNotFound(archived)) return refuse_unknown_voucher(**sale, arguments.voucher);
  if (absl::IsFailedPrecondition(archived)) return refuse_archiving(archived);
  if (!archived.ok()) return fail(archived);
  std::optional<std::size_t> deleted;
  if (arguments.deletes) {
    const auto count = patiently(arguments.sale.patience, [&] {
      return (*sale)->sale().delete_archived(arguments.voucher);
    });
    if (!count.ok()) return fail(count.status());
    deleted = *count;
  }
  print(arguments, deleted);
  return kExitOk;
}

}  // namespace

void add_archive(CLI::App& app, Invocation& invocation) {
  CLI::App* const command = add_command(
      app, "archive", "Move an ended sale out of the keyspace and the tables of orders, for good.");
  const auto arguments = std::make_shared<ArchiveArguments>();
  add_sale_options(*command, arguments->sale);
  add_server_option(*command, arguments->sale);
  command->add_option("voucher", arguments->voucher, "The voucher's id")
      ->required()
      ->type_name("VOUCHER");
  command
      ->add_option("--discard-dead-letters", arguments->discard_reason,
                   "Discard the sale's dead letters, for this reason")
      ->check([](const std::string& reason) { return reason.empty() ? "is empty" : ""; })
      ->type_name("REASON");
  command->add_flag("--delete", arguments->deletes, "Delete its archived orders too");
  command->add_flag("--json", arguments->json, "As a JSON object");
  command->callback([&invocation, arguments] {
    invocation.run = [arguments](const std::shared_ptr<spdlog::logger>& logger) {
      arguments->sale.logger = logger;
      return run_archive(*arguments);
    };
  });
}

}  // namespace rushgate
