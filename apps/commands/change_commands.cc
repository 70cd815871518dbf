// `pay`, `cancel`, `use` and `refund`: changes of an order.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

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

using Json = nlohmann::ordered_json;

struct ChangeArguments {
  SaleArguments sale;
  OrderId order = 0;
  std::string payment;
  std::int64_t amount_cents = 0;
  std::string reason;
  std::string actor;
  std::optional<VoucherId> voucher;  // for `refund`: all of its orders
  bool json = false;
};

using Change = ChangeResult (*)(Sale& sale, const ChangeArguments& arguments);

/// How a command changes an order.
struct ChangeKind {
  Change change;
  const char* route;          // of a service, below the order
  bool needs_stored = false;  // the database decides, so queued orders are stored first
};

ChangeResult pay(Sale& sale, const ChangeArguments& arguments) {
  return sale.pay({.order = arguments.order,
                   .payment = arguments.payment,
                   .amount_cents = arguments.amount_cents});
}

ChangeResult cancel(Sale& sale, const ChangeArguments& arguments) {
  return sale.cancel(arguments.order, arguments.reason, arguments.actor);
}

ChangeResult use(Sale& sale, const ChangeArguments& arguments) {
  return sale.use(arguments.order, arguments.actor);
}

ChangeResult refund(Sale& sale, const ChangeArguments& arguments) {
  return sale.refund(arguments.order, arguments.reason, arguments.actor);
}

bool has_state(const ChangeResult& result) {
  return result.outcome == ChangeOutcome::kDone || result.outcome == ChangeOutcome::kTooLate;
}

void print(const ChangeArguments& arguments, const ChangeResult& result) {
  const std::string_view outcome = change_outcome_name(result.outcome);
  if (arguments.json) {
    Json json = {{"order", std::to_string(arguments.order)},
                 {"outcome", outcome},
                 {"repeated", result.is_repeated},
                 {"state", nullptr},
                 {"detail", result.detail}};
    if (has_state(result)) json["state"] = order_status_name(result.status);
    fmt::print("{}", dump(json));
    return;
  }
  fmt::print("{}{}", outcome, result.is_repeated ? " before" : "");
  const std::string state =
      fmt::format("order {} is {}", arguments.order, order_status_name(result.status));
  // A refusal by the database begins with the same words.
  if (has_state(result) && !result.detail.starts_with(state)) fmt::print(": {}", state);
  if (!result.detail.empty()) fmt::print(": {}", printable(result.detail));
  fmt::print("\n");
}

/// Prints a failure, or the result. Returns the exit code.
int report(const ChangeArguments& arguments, const ChangeResult& result) {
  const int exit_code = exit_code_of(result.outcome);
  if (exit_code == kExitFailure) {
    say("rushgate: {}: {}\n", change_outcome_name(result.outcome), result.detail);
  } else {
    print(arguments, result);
  }
  return exit_code;
}

int change_at_service(const ChangeArguments& arguments, const ChangeKind& kind) {
  const auto service = service_of(arguments.sale);
  if (!service.ok()) return fail(service.status());
  Json body = Json::object();
  if (!arguments.payment.empty()) {
    body = {{"payment", arguments.payment}, {"amount_cents", arguments.amount_cents}};
  }
  if (!arguments.reason.empty()) body["reason"] = arguments.reason;
  if (!arguments.actor.empty()) body["actor"] = arguments.actor;
  return report(arguments, patiently(arguments.sale.patience, [&] {
                  return change_at(*service, arguments.order, kind.route, body);
                }));
}

int run_change(const ChangeArguments& arguments, const ChangeKind& kind) {
  if (!arguments.sale.server.empty()) return change_at_service(arguments, kind);
  const auto sale = open_sale(arguments.sale);
  if (!sale.ok()) return fail(sale.status());
  if (kind.needs_stored) {
    const absl::Status stored =
        patiently(arguments.sale.patience, [&] { return (*sale)->drain(); });
    if (!stored.ok()) return fail(stored);
  }
  const ChangeResult result =
      patiently(arguments.sale.patience, [&] { return kind.change((*sale)->sale(), arguments); });
  const int exit_code = report(arguments, result);
  if (exit_code != kExitFailure) store_change(**sale, arguments.sale.patience);
  return exit_code;
}

/// Prints how many orders of a voucher were refunded or cancelled. Returns the exit code.
int report_refunded(const ChangeArguments& arguments, std::size_t changed) {
  if (arguments.json) {
    fmt::print("{}", dump({{"voucher", *arguments.voucher}, {"changed", changed}}));
  } else {
    fmt::print("voucher {}: {} orders refunded or cancelled\n", *arguments.voucher, changed);
  }
  return kExitOk;
}

int refund_all_at_service(const ChangeArguments& arguments) {
  const auto service = service_of(arguments.sale);
  if (!service.ok()) return fail(service.status());
  const auto changed = patiently(arguments.sale.patience, [&] {
    return refund_all_at(*service, *arguments.voucher, arguments.reason, arguments.actor);
  });
  if (!changed.ok()) return refuse_voucher_at(*service, *arguments.voucher, changed.status());
  return report_refunded(arguments, *changed);
}

/// Refunds all orders of a voucher.
int run_refund_all(const ChangeArguments& arguments) {
  if (!arguments.sale.server.empty()) return refund_all_at_service(arguments);
  const auto sale = open_sale(arguments.sale);
  if (!sale.ok()) return fail(sale.status());
  const auto known = (*sale)->sale().voucher(*arguments.voucher);
  if (!known.ok()) return fail(known.status());
  if (!known->has_value()) return refuse_unknown_voucher(**sale, *arguments.voucher);
  const absl::Status stored = patiently(arguments.sale.patience, [&] { return (*sale)->drain(); });
  if (!stored.ok()) return fail(stored);
  const auto changed = patiently(arguments.sale.patience, [&] {
    return (*sale)->sale().refund_all(*arguments.voucher, arguments.reason, arguments.actor);
  });
  if (!changed.ok()) return fail(changed.status());
  store_change(**sale, arguments.sale.patience);
  return report_refunded(arguments, *changed);
}

// ---- Options ----

using RunChange = std::function<int(const ChangeArguments&)>;

struct ChangeCommand {
  CLI::App* command;
  std::shared_ptr<ChangeArguments> arguments;
  CLI::Option* order;
};

/// Adds a command with the options that all changes share.
ChangeCommand add_change(CLI::App& app, Invocation& invocation, const std::string& name,
                         const std::string& description, const RunChange& run) {
  CLI::App* const command = add_command(app, name, description);
  const auto arguments = std::make_shared<ChangeArguments>();
  add_sale_options(*command, arguments->sale);
  add_server_option(*command, arguments->sale);
  CLI::Option* const order = command->add_option("order", arguments->order, "The order's id")
                                 ->required()
                                 ->check(CLI::PositiveNumber)
                                 ->type_name("ORDER");
  add_worker_options(*command, arguments->sale);
  command->add_flag("--json", arguments->json, "As a JSON object");
  command->callback([&invocation, arguments, run] {
    invocation.run = [arguments, run](const std::shared_ptr<spdlog::logger>& logger) {
      arguments->sale.logger = logger;
      return run(*arguments);
    };
  });
  return {command, arguments, order};
}

RunChange change_by(ChangeKind kind) {
  return [kind](const ChangeArguments& arguments) { return run_change(arguments, kind); };
}

void add_reason(const ChangeCommand& change) {
  change.command->add_option("--reason", change.arguments->reason, "The reason, which is recorded")
      ->required()
      ->check(not_empty())
      ->type_name("TEXT");
}

void add_actor(const ChangeCommand& change, const char* by_default) {
  change.arguments->actor = by_default;
  change.command->add_option("--actor", change.arguments->actor, "The actor, which is recorded")
      ->check(not_empty())
      ->capture_default_str()
      ->type_name("NAME");
}

}  // namespace

void add_pay(CLI::App& app, Invocation& invocation) {
  const ChangeCommand pays =
      add_change(app, invocation, "pay",
                 "Pay an order. A repeated command changes nothing. A payment that comes too late\n"
                 "is recorded as due back.",
                 change_by({.change = pay, .route = "payments"}));
  pays.command->add_option("--payment", pays.arguments->payment, "The payment provider's id of it")
      ->required()
      ->check(not_empty())
      ->type_name("ID");
  pays.command
      ->add_option("--amount", pays.arguments->amount_cents, "The price of all pieces of the order")
      ->required()
      ->check(number_from(1, std::numeric_limits<std::int64_t>::max()))
      ->type_name("CENTS");
}

void add_cancel(CLI::App& app, Invocation& invocation) {
  const ChangeCommand cancels =
      add_change(app, invocation, "cancel", "Cancel an order that is not paid.",
                 change_by({.change = cancel, .route = "cancel"}));
  add_reason(cancels);
  add_actor(cancels, "user");
}

void add_use(CLI::App& app, Invocation& invocation) {
  const ChangeCommand uses =
      add_change(app, invocation, "use", "Record that a created or paid order was used.",
                 change_by({.change = use, .route = "use", .needs_stored = true}));
  add_actor(uses, "operator");
}

void add_refund(CLI::App& app, Invocation& invocation) {
  const RunChange run = [](const ChangeArguments& arguments) {
    if (arguments.voucher) return run_refund_all(arguments);
    return run_change(arguments, {.change = refund, .route = "refund", .needs_stored = true});
  };
  const ChangeCommand refunds = add_change(
      app, invocation, "refund",
      "Refund an order, or all orders of a voucher. Their payments become due back: see\n"
      "`rushgate payments --state due`.",
      run);
  CLI::Option* const voucher =
      refunds.command
          ->add_option("--voucher", refunds.arguments->voucher,
                       "Refund all orders of this voucher, and cancel the unpaid ones. Close the\n"
                       "voucher first")
          ->type_name("ID");
  refunds.order->required(false);
  CLI::Option_group* const target = refunds.command->add_option_group("target");
  target->add_options(refunds.order, voucher);
  target->require_option(1);
  add_reason(refunds);
  add_actor(refunds, "operator");
}

}  // namespace rushgate
