#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "adapters/flash_sale/sale_json.h"
#include "adapters/flash_sale/utc_time.h"
#include "apps/commands/command_line.h"
#include "apps/commands/commands.h"
#include "apps/exit_code.h"
#include "apps/order_json.h"
#include "apps/order_tables.h"
#include "apps/service/sale_at_service.h"
#include "apps/text_table.h"
#include "engine/core/base/status_macros.h"

namespace rushgate {
namespace {

using Json = nlohmann::ordered_json;

struct StatusArguments {
  SaleArguments sale;
  OrderId order = 0;
  bool json = false;
};

/// An order, with everything that happened to it.
struct OrderLife {
  std::string state = {};
  OrderState found = {};
  std::vector<Payment> payments = {};
  std::vector<OrderChange> changes = {};
};

absl::StatusOr<OrderState> find_state(const OrderSource& source, OrderId order) {
  if (source.has_keyspace()) return source.status(order);
  ASSIGN_OR_RETURN(const auto stored, source.stored->find(order));
  if (!stored.has_value()) return OrderState{};
  return OrderState{.location = OrderLocation::kStored, .order = *stored, .reason = {}};
}

/// Returns the name of a state. The database alone cannot say whether an order that is not stored
/// is known.
std::string_view name_of(const OrderState& found, bool only_stored) {
  const bool may_be_queued = only_stored && found.location == OrderLocation::kUnknown;
  return may_be_queued ? "not stored" : state_name(found);
}

absl::StatusOr<OrderLife> read_life(const OrderSource& source, OrderId order) {
  constexpr std::size_t kPortion = 1'000;
  ASSIGN_OR_RETURN(auto found, find_state(source, order));
  std::string state(name_of(found, !source.has_keyspace()));
  OrderLife life{.state = std::move(state), .found = std::move(found)};
  PaymentStore& store = *source.orders().payments();
  const absl::Status read =
      for_each_payment(store, {.order = order, .count_max = kPortion},
                       [&](const Payment& payment) { life.payments.push_back(payment); });
  if (!read.ok()) return read;
  auto changes = store.changes(0, kPortion, order);  // an order changes a few times at most
  if (!changes.ok()) return changes.status();
  life.changes = *std::move(changes);
  return life;
}

/// Reads an order at a service; empty if it is unknown there.
absl::StatusOr<OrderLife> read_life_at_service(const SaleArguments& place, OrderId order) {
  ASSIGN_OR_RETURN(const auto service, service_of(place));
  const auto found = patiently(place.patience, [&] { return order_at(service, order); });
  if (!found.ok()) return found.status();
  OrderLife life{.state = std::string(state_name({}))};
  if (found->has_value()) {
    const Json& json = **found;
    life.state = json.at("state");
    if (json.contains("user")) life.found.order = order_from_json(json);
    life.found.location = OrderLocation::kQueued;
    if (life.found.order) life.found.location = OrderLocation::kStored;
    if (json.contains("reason")) {
      life.found.location = OrderLocation::kDeadLetter;
      life.found.reason = json.at("reason");
    }
    for (const Json& payment : json.at("payments")) {
      life.payments.push_back(payment_from_json(payment));
    }
    for (const Json& change : json.at("history")) life.changes.push_back(change_from_json(change));
  }
  return life;
}

void print_json(OrderId order, const OrderLife& life) {
  Json json = life.found.order ? to_json(*life.found.order)
                               : Json{{"order", std::to_string(order)}, {"state", life.state}};
  if (life.found.location == OrderLocation::kDeadLetter) json["reason"] = life.found.reason;
  json["payments"] = Json::array();
  for (const Payment& payment : life.payments) json["payments"].push_back(to_json(payment));
  json["history"] = Json::array();
  for (const OrderChange& change : life.changes) json["history"].push_back(to_json(change));
  fmt::print("{}", dump(json));
}

std::string describe(const Order& order) {
  std::string text = fmt::format(": user {}, voucher {}, admitted at {}, {} for {} cents",
                                 order.user.text(), order.voucher, format_utc(order.admitted_at_ms),
                                 order.quantity, grouped(amount_of(order)));
  if (order.due_at_ms != 0) text += ", due at " + format_utc(order.due_at_ms);
  if (!order.reference.empty()) text += ", reference " + printable(order.reference);
  if (!order.idempotency_key.empty())
    text += ", idempotency key " + printable(order.idempotency_key);
  return text;
}

void print_text(const OrderLife& life) {
  fmt::print("{}", life.state);
  if (!life.found.reason.empty()) fmt::print(": {}", printable(life.found.reason));
  fmt::print("{}\n", life.found.order ? describe(*life.found.order) : "");
  PaymentTable payments;
  for (const Payment& payment : life.payments) payments.add(payment);
  if (!life.payments.empty()) fmt::print("\n{}", payments.text());
  ChangeTable changes;
  for (const OrderChange& change : life.changes) changes.add(change);
  if (!life.changes.empty()) fmt::print("\n{}", changes.text());
}

absl::StatusOr<OrderLife> read_life(const SaleArguments& place, OrderId order) {
  ASSIGN_OR_RETURN(const auto source, open_order_source(place));
  return patiently(place.patience, [&] { return read_life(source, order); });
}

int run_status(const StatusArguments& arguments) {
  const auto life = arguments.sale.server.empty()
                        ? read_life(arguments.sale, arguments.order)
                        : read_life_at_service(arguments.sale, arguments.order);
  if (!life.ok()) return fail(life.status());
  if (arguments.json) {
    print_json(arguments.order, *life);
  } else {
    print_text(*life);
  }
  return life->found.location == OrderLocation::kUnknown ? kExitNegative : kExitOk;
}

}  // namespace

void add_status(CLI::App& app, Invocation& invocation) {
  CLI::App* const command =
      add_command(app, "status",
                  "Show an order: its state (queued, failed or unknown if it is not stored), its\n"
                  "payments and its changes.");
  const auto arguments = std::make_shared<StatusArguments>();
  add_sale_options(*command, arguments->sale);
  add_server_option(*command, arguments->sale);
  command->add_option("order", arguments->order, "The order's id")
      ->required()
      ->check(CLI::PositiveNumber)
      ->type_name("ORDER");
  command->add_flag("--json", arguments->json, "As a JSON object");
  command->callback([&invocation, arguments] {
    invocation.run = [arguments](const std::shared_ptr<spdlog::logger>& logger) {
      arguments->sale.logger = logger;
      return run_status(*arguments);
    };
  });
}

}  // namespace rushgate
