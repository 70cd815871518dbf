#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "absl/functional/function_ref.h"
#include "apps/commands/command_line.h"
#include "apps/commands/commands.h"
#include "apps/exit_code.h"
#include "apps/order_json.h"
#include "apps/order_tables.h"
#include "apps/say.h"
#include "apps/service/sale_at_service.h"

namespace rushgate {
namespace {

struct PaymentsArguments {
  SaleArguments sale;
  PaymentFilter filter = {.count_max = 10'000};
  std::vector<std::string> confirm;  // ids of payments
  bool json = false;
};

using VisitPayment = absl::FunctionRef<void(const Payment&)>;

/// Prints the payments that `visit_all` visits. Returns the exit code: `exit_code`, or that of a failure.
int print_payments(const PaymentsArguments& arguments, int exit_code,
                   absl::FunctionRef<absl::Status(VisitPayment)> visit_all) {
  auto array = nlohmann::ordered_json::array();
  PaymentTable table;
  const absl::Status read = visit_all([&](const Payment& payment) {
    if (arguments.json) {
      array.push_back(to_json(payment));
    } else {
      table.add(payment);
    }
  });
  if (!read.ok()) return fail(read);
  fmt::print("{}", arguments.json ? dump(array) : table.text());
  return exit_code;
}

int print_stored(const PaymentsArguments& arguments, int exit_code, OrderStore& orders) {
  return print_payments(arguments, exit_code, [&](VisitPayment visit) {
    return for_each_payment(*orders.payments(), arguments.filter, visit);
  });
}

int run_list(const PaymentsArguments& arguments) {
  const auto source = open_order_source(arguments.sale);
  return source.ok() ? print_stored(arguments, kExitOk, source->orders()) : fail(source.status());
}

/// Confirms the refunds of the named payments. Returns the exit code.
int confirm_refunds(const PaymentsArguments& arguments,
                    absl::FunctionRef<ChangeResult(const std::string& payment)> confirm) {
  int exit_code = kExitOk;
  std::size_t confirmed = 0;
  for (const std::string& payment : arguments.confirm) {
    const ChangeResult result =
        patiently(arguments.sale.patience, [&] { return confirm(payment); });
    exit_code = std::max(exit_code, exit_code_of(result.outcome));
    if (result.outcome == ChangeOutcome::kDone) {
      ++confirmed;
    } else {
      say("{}: {}: {}\n", payment, change_outcome_name(result.outcome), result.detail);
    }
  }
  say("{} confirmed\n", confirmed);
  return exit_code;
}

/// Confirms refunds, then lists the payments. Stores queued ones first.
int run_confirm(const PaymentsArguments& arguments) {
  const auto sale = open_sale(arguments.sale);
  if (!sale.ok()) return fail(sale.status());
  const absl::Status stored = patiently(arguments.sale.patience, [&] { return (*sale)->drain(); });
  if (!stored.ok()) return fail(stored);
  const int exit_code = confirm_refunds(
      arguments, [&](const std::string& payment) { return (*sale)->confirm_refund(payment); });
  return print_stored(arguments, exit_code, (*sale)->orders());
}

/// The same at a service, which stores without being told to.
int run_at_service(const PaymentsArguments& arguments) {
  const auto service = service_of(arguments.sale);
  if (!service.ok()) return fail(service.status());
  int exit_code = kExitOk;
  if (!arguments.confirm.empty()) {
    exit_code = confirm_refunds(arguments, [&](const std::string& payment) {
      return confirm_refund_at(*service, payment);
    });
  }
  std::string target = "/v1/payments";
  const PaymentFilter& filter = arguments.filter;
  if (filter.order) target = with_query(target, "order", std::to_string(*filter.order));
  if (filter.state) target = with_query(target, "state", payment_state_name(*filter.state));
  return print_payments(arguments, exit_code, [&](VisitPayment visit) {
    return for_each_at(*service, arguments.sale.patience, target, "payments",
                       [&](const auto& json) { visit(payment_from_json(json)); });
  });
}

Payment::State state_of(const std::string& name) {
  for (const auto state :
       {Payment::State::kKept, Payment::State::kDue, Payment::State::kRefunded}) {
    if (payment_state_name(state) == name) return state;
  }
  throw CLI::ValidationError("--state", fmt::format("'{}' is not a state of a payment", name));
}

}  // namespace

void add_payments(CLI::App& app, Invocation& invocation) {
  CLI::App* const command =
      add_command(app, "payments", "List payments, and confirm that payments were refunded.");
  const auto arguments = std::make_shared<PaymentsArguments>();
  add_sale_options(*command, arguments->sale);
  add_server_option(*command, arguments->sale);
  command->add_option("--order", arguments->filter.order, "Only this order's payments")
      ->check(CLI::PositiveNumber)
      ->type_name("ORDER");
  command
      ->add_option_function<std::string>(
          "--state",
          [arguments](const std::string& name) { arguments->filter.state = state_of(name); },
          "Only payments in this state")
      ->type_name("kept|due|refunded");
  command
      ->add_option("--confirm", arguments->confirm,
                   "Record that these payments, which were due, are refunded. Then list the\n"
                   "payments; exit code 1 if one of them was not due")
      ->check(not_empty())
      ->type_name("ID...");
  add_worker_options(*command, arguments->sale);
  command->add_flag("--json", arguments->json, "As a JSON array");
  command->callback([&invocation, arguments] {
    invocation.run = [arguments](const std::shared_ptr<spdlog::logger>& logger) {
      arguments->sale.logger = logger;
      if (!arguments->sale.server.empty()) return run_at_service(*arguments);
      return arguments->confirm.empty() ? run_list(*arguments) : run_confirm(*arguments);
    };
  });
}

}  // namespace rushgate
