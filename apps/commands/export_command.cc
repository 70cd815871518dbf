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
#include "apps/output/record_writer.h"

namespace rushgate {
namespace {

struct ExportArguments {
  SaleArguments sale;
  std::optional<VoucherId> voucher;
  std::string table;
  std::string format;
};

RecordWriter::Format format_named(const std::string& name) {
  if (name == "json") return RecordWriter::Format::kJson;
  return name == "csv" ? RecordWriter::Format::kCsv : RecordWriter::Format::kSpreadsheet;
}

int run_export(const ExportArguments& arguments) {
  const auto orders = open_stored_orders(arguments.sale);
  if (!orders.ok()) return fail(orders.status());
  const ExportTable& table =
      *std::ranges::find(export_tables(), arguments.table, &ExportTable::name);
  RecordWriter writer(format_named(arguments.format), table.fields);
  const absl::Status read =
      table.read(**orders, arguments.voucher,
                 [&](const nlohmann::ordered_json& record) { writer.write(record); });
  if (!read.ok()) return fail(read);
  writer.finish();
  return kExitOk;
}

}  // namespace

void add_export(CLI::App& app, Invocation& invocation) {
  CLI::App* const command = add_command(
      app, "export", "Write all stored orders, payments or changes of orders to stdout.");
  const auto arguments = std::make_shared<ExportArguments>();
  add_sale_options(*command, arguments->sale);
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
