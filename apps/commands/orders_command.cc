// `orders` and `status`: the state of accepted orders.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "absl/functional/function_ref.h"
#include "adapters/flash_sale/utc_time.h"
#include "apps/commands/command_line.h"
#include "apps/commands/commands.h"
#include "apps/exit_code.h"
#include "apps/text_table.h"
#include "engine/sale/orders/order_entry.h"
#include "engine/sale/orders/unstored_orders.h"

namespace rushgate {
namespace {

using Json = nlohmann::ordered_json;

const std::string_view kCreated = order_state_name(OrderState::Kind::kCreated);
const std::string_view kQueued = order_state_name(OrderState::Kind::kQueued);
const std::string_view kFailed = order_state_name(OrderState::Kind::kFailed);

struct ListedOrder {
  Order order;
  std::string_view status;
  std::string reason = {};  // if the order failed
};

/// Returns the order with its ids as strings. Many programs read numbers as doubles, which cannot
/// hold them.
Json to_json(const ListedOrder& listed) {
  Json json = {{"order", std::to_string(listed.order.id)},
               {"user", listed.order.user},
               {"voucher", listed.order.voucher},
               {"status", listed.status},
               {"admitted_at", format_utc(listed.order.admitted_at_ms)}};
  // Older versions did not store the time.
  if (listed.order.created_at_ms != 0) json["created_at"] = format_utc(listed.order.created_at_ms);
  if (listed.status == kFailed) json["reason"] = listed.reason;
  return json;
}

// ---- orders -----------------------------------------------------------------------------------

struct OrdersArguments {
  SaleArguments sale;
  std::optional<UserId> user;
  std::optional<VoucherId> voucher;
  std::string status;  // empty: any
  bool json = false;
};

using Visit = absl::FunctionRef<void(const ListedOrder&)>;

bool is_asked_for(const OrdersArguments& arguments, std::string_view status) {
  return arguments.status.empty() || arguments.status == status;
}

bool is_asked_for(const OrdersArguments& arguments, const Order& order) {
  return (!arguments.user || order.user == *arguments.user) &&
         (!arguments.voucher || order.voucher == *arguments.voucher);
}

absl::Status visit_created(const OrdersArguments& arguments, OrderStore& orders, Visit visit) {
  const OrderFilter filter{.user = arguments.user,
                           .voucher = arguments.voucher,
                           .status = OrderStatus::kCreated,
                           .after = 0,
                           .count_max = 10'000};
  return for_each_order(orders, filter,
                        [&](const Order& order) { visit({.order = order, .status = kCreated}); });
}

absl::Status visit_queued(const OrdersArguments& arguments, FlashSale& sale, Visit visit) {
  const auto unstored = read_unstored_orders(sale.client(), sale.keys(), arguments.voucher);
  if (!unstored.ok()) return unstored.status();
  for (const Order& order : unstored->queued) {
    if (!is_asked_for(arguments, order)) continue;
    const auto stored = sale.orders().find(order.id);  // it may await only its trimming
    if (!stored.ok()) return stored.status();
    if (!stored->has_value()) visit({.order = order, .status = kQueued});
  }
  return absl::OkStatus();
}

absl::Status visit_failed(const OrdersArguments& arguments, FlashSale& sale, Visit visit) {
  const auto letters = sale.sale().dead_letters();
  if (!letters.ok()) return letters.status();
  const auto discarded = sale.sale().discarded_letters();
  if (!discarded.ok()) return discarded.status();
  const auto visit_letter = [&](const DeadLetter& letter, const std::string& reason) {
    const auto order = read_order(letter.order);
    if (!order.ok() || !is_asked_for(arguments, *order)) return;
    visit({.order = *order, .status = kFailed, .reason = reason});
  };
  for (const DeadLetter& letter : *letters) visit_letter(letter, letter.reason);
  for (const DiscardedLetter& one : *discarded) visit_letter(one.letter, one.reason());
  return absl::OkStatus();
}

absl::Status visit_orders(const OrdersArguments& arguments, const OrderSource& source,
                          Visit visit) {
  absl::Status visited;
  if (is_asked_for(arguments, kCreated)) visited = visit_created(arguments, source.orders(), visit);
  if (!source.sale) return visited;
  if (visited.ok() && is_asked_for(arguments, kQueued)) {
    visited = visit_queued(arguments, *source.sale, visit);
  }
  if (visited.ok() && is_asked_for(arguments, kFailed)) {
    visited = visit_failed(arguments, *source.sale, visit);
  }
  return visited;
}

int run_orders(const OrdersArguments& arguments) {
  const auto source = open_order_source(arguments.sale);
  if (!source.ok()) return fail(source.status());
  Json array = Json::array();
  TextTable table("rrrlll");
  table.add({"order", "user", "voucher", "status", "admitted at", ""});
  const absl::Status visited = visit_orders(arguments, *source, [&](const ListedOrder& listed) {
    if (arguments.json) {
      array.push_back(to_json(listed));
      return;
    }
    const Order& order = listed.order;
    table.add({std::to_string(order.id), std::to_string(order.user), std::to_string(order.voucher),
               std::string(listed.status), format_utc(order.admitted_at_ms), listed.reason});
  });
  if (!visited.ok()) return fail(visited);
  fmt::print("{}", arguments.json ? array.dump(2) + '\n' : table.text());
  return kExitOk;
}

// ---- status -----------------------------------------------------------------------------------

struct StatusArguments {
  SaleArguments sale;
  OrderId order = 0;
  bool json = false;
};

absl::StatusOr<OrderState> find_state(const OrderSource& source, OrderId order) {
  if (source.sale) return source.sale->status(order);
  const auto stored = source.stored->find(order);
  if (!stored.ok()) return stored.status();
  if (!stored->has_value()) return OrderState{};
  return OrderState{.kind = OrderState::Kind::kCreated, .order = **stored, .reason = {}};
}

/// Returns the name of a state. The database alone cannot say whether an order that is not stored
/// is known.
std::string_view name_of(OrderState::Kind kind, bool only_stored) {
  const bool may_be_queued = only_stored && kind == OrderState::Kind::kUnknown;
  return may_be_queued ? "not stored" : order_state_name(kind);
}

void print_state(const StatusArguments& arguments, const OrderState& state, bool only_stored) {
  const std::string_view name = name_of(state.kind, only_stored);
  if (arguments.json) {
    Json json = state.order ? to_json({.order = *state.order, .status = name})
                            : Json{{"order", std::to_string(arguments.order)}, {"status", name}};
    if (state.kind == OrderState::Kind::kFailed) json["reason"] = state.reason;
    fmt::print("{}\n", json.dump(2));
    return;
  }
  fmt::print("{}", name);
  if (!state.reason.empty()) fmt::print(": {}", state.reason);
  if (state.order) {
    fmt::print(": user {}, voucher {}, admitted at {}", state.order->user, state.order->voucher,
               format_utc(state.order->admitted_at_ms));
  }
  fmt::print("\n");
}

int run_status(const StatusArguments& arguments) {
  const auto source = open_order_source(arguments.sale);
  if (!source.ok()) return fail(source.status());
  const auto state = find_state(*source, arguments.order);
  if (!state.ok()) return fail(state.status());
  print_state(arguments, *state, source->sale == nullptr);
  return state->kind == OrderState::Kind::kUnknown ? kExitNegative : kExitOk;
}

}  // namespace

void add_orders(CLI::App& app, Invocation& invocation) {
  CLI::App* const command = add_command(
      app, "orders", "List orders: those created, then those queued, then those failed.");
  const auto arguments = std::make_shared<OrdersArguments>();
  add_sale_options(*command, arguments->sale);
  command->add_option("--user", arguments->user, "Only this user's orders")->type_name("ID");
  command->add_option("--voucher", arguments->voucher, "Only this voucher's orders")
      ->type_name("ID");
  command->add_option("--status", arguments->status, "Only orders with this status")
      ->check(CLI::IsMember({"created", "queued", "failed"}))
      ->type_name("created|queued|failed");
  command->add_flag("--json", arguments->json, "As a JSON array");
  command->callback([&invocation, arguments] {
    invocation.run = [arguments](const std::shared_ptr<spdlog::logger>& logger) {
      arguments->sale.logger = logger;
      return run_orders(*arguments);
    };
  });
}

void add_status(CLI::App& app, Invocation& invocation) {
  CLI::App* const command =
      add_command(app, "status",
                  "Show an order's status: created, queued, failed (with the reason) or unknown.");
  const auto arguments = std::make_shared<StatusArguments>();
  add_sale_options(*command, arguments->sale);
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
