#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "apps/audit_text.h"
#include "apps/commands/command_line.h"
#include "apps/commands/commands.h"
#include "apps/exit_code.h"
#include "apps/order_json.h"
#include "apps/service/sale_at_service.h"

namespace rushgate {
namespace {

struct AuditArguments {
  SaleArguments sale;
  bool repairs = false;
  bool json = false;
};

absl::StatusOr<AuditReport> read_report(const AuditArguments& arguments) {
  const SaleArguments& place = arguments.sale;
  if (!place.server.empty()) {
    const auto service = ServiceClient::of_url(place.server);
    if (!service.ok()) return service.status();
    return patiently(place.patience, [&] { return audit_at(*service, arguments.repairs); });
  }
  const auto sale = open_sale(place);
  if (!sale.ok()) return sale.status();
  return patiently(place.patience,
                   [&] { return arguments.repairs ? (*sale)->sale().repair() : (*sale)->audit(); });
}

int run_audit(const AuditArguments& arguments) {
  const auto report = read_report(arguments);
  if (!report.ok()) return fail(report.status());
  fmt::print("{}", arguments.json ? dump(to_json(*report)) : format_audit(*report));
  return report->passed() ? kExitOk : kExitNegative;
}

}  // namespace

void add_audit(CLI::App& app, Invocation& invocation) {
  CLI::App* const command = add_command(
      app, "audit", "Check that nothing was oversold, doubled or lost, and list all problems.");
  const auto arguments = std::make_shared<AuditArguments>();
  add_sale_options(*command, arguments->sale);
  add_server_option(*command, arguments->sale);
  command->add_flag("--repair", arguments->repairs,
                    "First repair what is safe: lost events and wrong holds of orders");
  command->add_flag("--json", arguments->json, "The verdict as JSON");
  command->callback([&invocation, arguments] {
    invocation.run = [arguments](const std::shared_ptr<spdlog::logger>& logger) {
      arguments->sale.logger = logger;
      return run_audit(*arguments);
    };
  });
}

}  // namespace rushgate
