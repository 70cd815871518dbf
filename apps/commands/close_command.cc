#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "adapters/flash_sale/utc_time.h"
#include "apps/commands/command_line.h"
#include "apps/commands/commands.h"
#include "apps/exit_code.h"
#include "apps/order_json.h"
#include "apps/service/sale_at_service.h"

namespace rushgate {
namespace {

struct CloseArguments {
  SaleArguments sale;
  VoucherId voucher = 0;
  bool json = false;
};

void print(const VoucherVersion& version, bool json) {
  const Voucher& voucher = version.voucher;
  const std::string end = format_utc(voucher.end_ms);
  if (json) {
    const nlohmann::ordered_json object = {
        {"voucher", voucher.id}, {"version", version.version}, {"end_at", end}};
    fmt::print("{}", dump(object));
  } else {
    fmt::print("voucher {} is closed: its sale ended at {}\n", voucher.id, end);
  }
}

int close_at_service(const CloseArguments& arguments) {
  const auto service = service_of(arguments.sale);
  if (!service.ok()) return fail(service.status());
  const auto version =
      patiently(arguments.sale.patience, [&] { return close_at(*service, arguments.voucher); });
  if (!version.ok()) return refuse_voucher_at(*service, arguments.voucher, version.status());
  print(*version, arguments.json);
  return kExitOk;
}

int run_close(const CloseArguments& arguments) {
  if (!arguments.sale.server.empty()) return close_at_service(arguments);
  const auto sale = open_sale(arguments.sale);
  if (!sale.ok()) return fail(sale.status());
  const auto find_version = [&] {
    return patiently(arguments.sale.patience,
                     [&] { return (*sale)->sale().voucher(arguments.voucher); });
  };
  const auto known = find_version();
  if (!known.ok()) return fail(known.status());
  if (!known->has_value()) return refuse_unknown_voucher(**sale, arguments.voucher);
  const absl::Status closed =
      patiently(arguments.sale.patience, [&] { return (*sale)->sale().close(arguments.voucher); });
  if (!closed.ok()) return fail(closed);
  const auto version = find_version();
  if (!version.ok()) return fail(version.status());
  print(version->value(), arguments.json);
  return kExitOk;
}

}  // namespace

void add_close(CLI::App& app, Invocation& invocation) {
  CLI::App* const command =
      add_command(app, "close", "End the sale of a voucher now. Unpaid orders may still be paid.");
  const auto arguments = std::make_shared<CloseArguments>();
  add_sale_options(*command, arguments->sale);
  add_server_option(*command, arguments->sale);
  command->add_option("voucher", arguments->voucher, "The voucher's id")
      ->required()
      ->type_name("VOUCHER");
  command->add_flag("--json", arguments->json, "As a JSON object");
  command->callback([&invocation, arguments] {
    invocation.run = [arguments](const std::shared_ptr<spdlog::logger>& logger) {
      arguments->sale.logger = logger;
      return run_close(*arguments);
    };
  });
}

}  // namespace rushgate
