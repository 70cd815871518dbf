#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "absl/functional/function_ref.h"
#include "adapters/flash_sale/sale_json.h"
#include "apps/commands/command_line.h"
#include "apps/commands/commands.h"
#include "apps/exit_code.h"
#include "apps/order_json.h"
#include "apps/say.h"
#include "apps/service/sale_at_service.h"
#include "apps/signals.h"
#include "apps/text_table.h"
#include "engine/core/base/random_name.h"

namespace rushgate {
namespace {

using Json = nlohmann::ordered_json;

struct BuyArguments {
  SaleArguments sale;
  BuyRequest request;
  bool json = false;
};

/// Returns the name of the order's state after the command has stored it; empty if it is unknown.
std::string_view state_after(FlashSale& sale, const BuyResult& result, const Patience& patience) {
  const auto found = patiently(patience, [&] { return sale.status(result.order); });
  if (!found.ok()) return result.status ? order_status_name(*result.status) : std::string_view();
  return state_name(*found);
}

void print(const BuyArguments& arguments, const BuyResult& result, std::string_view state) {
  const std::string_view outcome = outcome_name(result.outcome);
  if (arguments.json) {
    Json json = {{"order", nullptr},
                 {"outcome", outcome},
                 {"repeated", result.is_repeated},
                 {"state", nullptr},
                 {"detail", result.detail}};
    if (result.order != 0) json["order"] = std::to_string(result.order);
    if (!state.empty()) json["state"] = state;
    fmt::print("{}", dump(json));
    return;
  }
  fmt::print("{}{}", outcome, result.is_repeated ? " before" : "");
  if (result.order != 0) {
    const bool is_own = result.outcome == Outcome::kAccepted;
    fmt::print(": {}order {}", is_own ? "" : "the user has ", result.order);
  }
  if (!state.empty()) fmt::print(" is {}", state);
  if (!result.detail.empty()) fmt::print(": {}", printable(result.detail));
  fmt::print("\n");
}

/// Prints a failure, or the result with the order's state. Returns the exit code.
int report(const BuyArguments& arguments, const BuyResult& result,
           absl::FunctionRef<std::string_view()> find_state) {
  const int exit_code = exit_code_of(result.outcome);
  if (exit_code == kExitFailure) {
    say("rushgate: {}{}: {}\n", outcome_name(result.outcome),
        result.order == 0 ? "" : fmt::format(": order {}", result.order), result.detail);
    return exit_code;
  }
  std::string_view state;
  if (result.outcome == Outcome::kAccepted) state = find_state();
  print(arguments, result, state);
  return exit_code;
}

/// Waits in the waiting room of a voucher until the user has entered. Returns the purchase token.
absl::StatusOr<std::string> enter(const ServiceClient& service, const BuyArguments& arguments) {
  constexpr std::int64_t kLookMs = 1'000;
  std::int64_t said = 0;  // the last position
  while (true) {
    const auto visit = patiently(arguments.sale.patience, [&] {
      return visit_entrance_at(service, arguments.request.voucher, arguments.request.user);
    });
    if (!visit.ok()) return visit.status();
    if (!visit->token.empty()) return visit->token;
    if (interrupt_signal() != 0) return absl::UnknownError("interrupted in the waiting room");
    if (std::exchange(said, visit->position) != visit->position) {
      say("waiting: position {} in the waiting room\n", grouped(visit->position));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(std::min(visit->wait_ms, kLookMs)));
  }
}

int buy_at_service(BuyArguments arguments) {
  const auto service = service_of(arguments.sale);
  if (!service.ok()) return fail(service.status());
  const auto buy = [&] {
    return patiently(arguments.sale.patience, [&] { return buy_at(*service, arguments.request); });
  };
  BuyResult result = buy();
  if (result.outcome == Outcome::kTokenRefused && arguments.request.purchase_token.empty()) {
    auto token = enter(*service, arguments);
    if (!token.ok()) return fail(token.status());
    arguments.request.purchase_token = *std::move(token);
    result = buy();
  }
  return report(arguments, result, [&]() -> std::string_view {
    if (result.status) return order_status_name(*result.status);
    return result.is_repeated ? std::string_view()
                              : state_name({.location = OrderLocation::kQueued});
  });
}

int run_buy(BuyArguments arguments) {
  note_interrupts();  // what was bought is printed
  BuyRequest& request = arguments.request;
  // Each attempt must be the same purchase.
  if (request.idempotency_key.empty()) request.idempotency_key = "command:" + random_name();
  if (!arguments.sale.server.empty()) return buy_at_service(arguments);
  const auto sale = open_sale(arguments.sale);
  if (!sale.ok()) return fail(sale.status());
  const BuyResult result =
      patiently(arguments.sale.patience, [&] { return (*sale)->buy(request); });
  return report(arguments, result, [&] {
    store_change(**sale, arguments.sale.patience);
    return state_after(**sale, result, arguments.sale.patience);
  });
}

/// Checks the length of a value in bytes.
CLI::Validator bytes_up_to(std::size_t bytes_max) {
  const auto check = [bytes_max](const std::string& text) -> std::string {
    if (text.size() <= bytes_max) return {};
    return fmt::format("it has {} bytes, and at most {} are allowed", text.size(), bytes_max);
  };
  return {check, ""};
}

}  // namespace

void add_buy(CLI::App& app, Invocation& invocation) {
  CLI::App* const command =
      add_command(app, "buy", "Buy pieces of a voucher for a user, and store the order.");
  const auto arguments = std::make_shared<BuyArguments>();
  arguments->sale.names_order_at_limit = true;
  add_sale_options(*command, arguments->sale);
  add_server_option(*command, arguments->sale);
  BuyRequest& request = arguments->request;
  command->add_option("voucher", request.voucher, "The voucher's id")
      ->required()
      ->type_name("VOUCHER");
  add_user_option(*command, "user", "The user: a number or a name",
                  [&request](const UserId& user) { request.user = user; })
      ->required()
      ->type_name("USER");
  command
      ->add_option("--quantity", request.quantity, "The number of pieces; all or none are bought")
      ->check(number_from(1, BuyRequest::kQuantityMax))
      ->capture_default_str()
      ->type_name("N");
  command
      ->add_option("--key", request.idempotency_key,
                   "The idempotency key: a repeated command gets the order of the first")
      ->check(not_empty())
      ->check(bytes_up_to(Order::kIdempotencyKeyBytesMax))
      ->type_name("KEY");
  command->add_option("--reference", request.reference, "Kept with the order")
      ->check(bytes_up_to(Order::kReferenceBytesMax))
      ->type_name("TEXT");
  command
      ->add_option("--token", request.purchase_token,
                   "The user's purchase token, for a voucher that needs one")
      ->check(bytes_up_to(BuyRequest::kPurchaseTokenBytesMax))
      ->type_name("TOKEN");
  add_worker_options(*command, arguments->sale);
  command->add_flag("--json", arguments->json, "As a JSON object");
  command->callback([&invocation, arguments] {
    invocation.run = [arguments](const std::shared_ptr<spdlog::logger>& logger) {
      arguments->sale.logger = logger;
      return run_buy(*arguments);
    };
  });
}

}  // namespace rushgate
