#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "apps/commands/command_line.h"
#include "apps/commands/commands.h"
#include "apps/exit_code.h"
#include "apps/output/export.h"
#include "apps/output/record_output.h"
#include "apps/service/sale_at_service.h"
#include "engine/core/base/status_macros.h"

namespace rushgate {
namespace {

struct ExportArguments {
  SaleArguments sale;
  std::optional<VoucherId> voucher;
  std::string table;
  std::string format;
};

RecordOutput::Format format_named(const std::string& name) {
  if (name == "json") return RecordOutput::Format::kJson;
  return name == "csv" ? RecordOutput::Format::kCsv : RecordOutput::Format::kSpreadsheet;
}

absl::Status read_at_service(const ExportArguments& arguments, const ExportTable& table,
                             const ExportTable::Visit& visit) {
  ASSIGN_OR_RETURN(const auto service, service_of(arguments.sale));
  std::string target = "/v1/" + table.route;
  if (arguments.voucher) {
    target = with_query(target, "voucher", std::to_string(*arguments.voucher));
  }
  return for_each_at(service, arguments.sale.patience, target, table.route.c_str(), visit);
}

absl::Status read(const ExportArguments& arguments, const ExportTable& table,
                  const ExportTable::Visit& visit) {
  if (!arguments.sale.server.empty()) return read_at_service(arguments, table, visit);
  const auto orders = open_stored_orders(arguments.sale);
  return orders.ok() ? table.read(**orders, arguments.voucher, visit) : orders.status();
}

int run_export(const ExportArguments& arguments) {
  const ExportTable& table =
      *std::ranges::find(export_tables(), arguments.table, &ExportTable::name);
  std::optional<RecordOutput> writer;  // which begins to write: not before there is something
  const auto begin = [&] {
    if (!writer) writer.emplace(format_named(arguments.format), table.fields);
  };
  const absl::Status done = read(arguments, table, [&](const nlohmann::ordered_json& record) {
    begin();
    writer->write(record);
  });
  if (!done.ok()) return fail(done);
  begin();
  writer->finish();
  return kExitOk;
}

}  // namespace

void add_export(CLI::App& app, Invocation& invocation) {
  CLI::App* const command = add_command(
      app, "export", "Write all stored orders, payments or changes of orders to stdout.");
  const auto arguments = std::make_shared<ExportArguments>();
  add_sale_options(*command, arguments->sale);
  add_server_option(*command, arguments->sale);
  command->add_option("--voucher", arguments->voucher, "Only those of this voucher's orders")
      ->type_name("ID");
  command->add_option("--what", arguments->table, "The table")
      ->required()
      ->check(CLI::IsMember({"orders", "payments", "history"}))
      ->type_name("orders|payments|history");
  command
      ->add_option("--format", arguments->format,
                   "CSV (RFC 4180), the same without formulas, or one JSON array")
      ->required()
      ->check(CLI::IsMember({"csv", "spreadsheet", "json"}))
      ->type_name("csv|spreadsheet|json");
  command->callback([&invocation, arguments] {
    invocation.run = [arguments](const std::shared_ptr<spdlog::logger>& logger) {
      arguments->sale.logger = logger;
      return run_export(*arguments);
    };
  });
}

}  // namespace rushgate
