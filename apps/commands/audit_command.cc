#include <cstddef>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "apps/audit_text.h"
#include "apps/commands/command_line.h"
#include "apps/commands/commands.h"
#include "apps/exit_code.h"
#include "apps/order_json.h"
#include "apps/progress_bar.h"
#include "apps/service/sale_at_service.h"
#include "apps/text_table.h"
#include "engine/core/base/status_macros.h"
#include <rushgate/rocksdb_store.h>

namespace rushgate {
namespace {

struct AuditArguments {
  SaleArguments sale;
  bool repairs = false;
  bool json = false;
};

std::string progress_text(const AuditProgress& progress) {
  return fmt::format("{} of {} vouchers, {} of about {} orders checked",
                     grouped(progress.vouchers_checked), grouped(progress.vouchers),
                     grouped(progress.orders_checked), grouped(progress.orders));
}

absl::StatusOr<AuditReport> read_report(const AuditArguments& arguments) {
  ProgressBar bar;
  const auto show = [&bar](const AuditProgress& progress) {
    bar.show(static_cast<std::size_t>(progress.vouchers_checked + progress.orders_checked),
             static_cast<std::size_t>(progress.vouchers + progress.orders),
             [&progress] { return progress_text(progress); });
  };
  const SaleArguments& place = arguments.sale;
  if (!place.server.empty()) {
    ASSIGN_OR_RETURN(const auto service, service_of(place));
    return patiently(place.patience, [&] { return audit_at(service, arguments.repairs, show); });
  }
  if (arguments.repairs) {
    ASSIGN_OR_RETURN(const auto sale, open_sale(place));
    return patiently(place.patience, [&] { return sale->sale().repair(show); });
  }
  auto sale = open_sale_if_free(place);
  if (is_held_by_another(sale.status())) {
    const auto reader = open_reader(place);
    if (reader.ok()) return patiently(place.patience, [&] { return (*reader)->audit(show); });
    if (!absl::IsNotFound(reader.status())) return reader.status();
    sale = open_sale(place);  // the keyspace is on a Redis
  }
  if (!sale.ok()) return sale.status();
  return patiently(place.patience, [&] { return (*sale)->audit(show); });
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
  command->add_flag("--accept-lost-orders", arguments->sale.accept_lost_orders,
                    "Open a sale whose database lost orders that the order stream no longer has:\n"
                    "their pieces are sold again");
  command->add_flag("--json", arguments->json, "The verdict as JSON");
  command->callback([&invocation, arguments] {
    invocation.run = [arguments](const std::shared_ptr<spdlog::logger>& logger) {
      arguments->sale.logger = logger;
      return run_audit(*arguments);
    };
  });
}

}  // namespace rushgate
