#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
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
#include "engine/sale/model/order_entry.h"
#include "engine/sale/stream/dead_letters.h"
#include "engine/sale/stream/unstored_orders.h"

namespace rushgate {
namespace {

using Json = nlohmann::ordered_json;

const std::string_view kQueued = state_name({.location = OrderLocation::kQueued});
const std::string_view kFailed = state_name({.location = OrderLocation::kDeadLetter});

struct ListedOrder {
  Order order;
  std::string_view state;
  std::string reason = {};  // if the order failed
};

Json listed_json(const ListedOrder& listed) {
  Json json = to_json(listed.order);
  json["state"] = listed.state;
  if (listed.state == kFailed) json["reason"] = listed.reason;
  return json;
}

struct OrdersArguments {
  SaleArguments sale;
  std::optional<UserId> user;
  std::optional<VoucherId> voucher;
  std::string state;  // empty: any
  bool json = false;
};

using VisitListed = absl::FunctionRef<void(const ListedOrder&)>;

bool is_asked_for(const OrdersArguments& arguments, std::string_view state) {
  return arguments.state.empty() || arguments.state == state;
}

bool is_asked_for(const OrdersArguments& arguments, const Order& order) {
  return (!arguments.user || order.user == *arguments.user) &&
         (!arguments.voucher || order.voucher == *arguments.voucher);
}

/// Visits the stored orders, in the given state or in any.
absl::Status visit_stored(const OrdersArguments& arguments, OrderStore& orders,
                          std::optional<OrderStatus> status, VisitListed visit) {
  const OrderFilter filter{.user = arguments.user,
                           .voucher = arguments.voucher,
                           .status = status,
                           .after = 0,
                           .count_max = 10'000};
  return for_each_order(orders, filter, [&](const Order& order) {
    visit({.order = order, .state = order_status_name(order.status)});
  });
}

absl::Status visit_failed(const OrdersArguments& arguments, const OrderSource& source,
                          VisitListed visit) {
  const auto letters = patiently(
      arguments.sale.patience, [&] { return list_dead_letters(source.client(), source.lanes()); });
  if (!letters.ok()) return letters.status();
  const auto discarded = patiently(arguments.sale.patience, [&] {
    return list_discarded_letters(source.client(), source.lanes());
  });
  if (!discarded.ok()) return discarded.status();
  const auto visit_letter = [&](const DeadLetter& letter, const std::string& reason) {
    const auto order = read_order(letter.order);
    if (!order.ok() || !is_asked_for(arguments, *order)) return;
    visit({.order = *order, .state = kFailed, .reason = reason});
  };
  for (const DeadLetter& letter : *letters) visit_letter(letter, letter.reason);
  for (const DiscardedLetter& one : *discarded) visit_letter(one.letter, one.reason());
  return absl::OkStatus();
}

/// Visits the orders that were queued before the stored ones were visited, except for those among these.
absl::Status visit_queued(const OrdersArguments& arguments, const OrderSource& source,
                          const std::vector<Order>& queued,
                          const absl::flat_hash_set<OrderId>& visited, VisitListed visit) {
  for (const Order& order : queued) {
    if (!is_asked_for(arguments, order) || visited.contains(order.id)) continue;
    // It may await only its trimming, or may have been stored meanwhile.
    ASSIGN_OR_RETURN(const auto stored, source.orders().find(order.id));
    const std::string_view state = stored ? order_status_name(stored->status) : kQueued;
    if (is_asked_for(arguments, state)) visit({.order = stored ? *stored : order, .state = state});
  }
  return absl::OkStatus();
}

/// Returns the orders in the order stream; none if the keyspace is away, which is printed to stderr.
absl::StatusOr<std::vector<Order>> read_queued(const OrdersArguments& arguments,
                                               const OrderSource& source) {
  if (!source.has_keyspace()) return std::vector<Order>();
  std::vector<Order> queued;
  for (const SaleLane& lane : source.lanes()) {
    auto unstored = patiently(arguments.sale.patience, [&] {
      return read_unstored_orders(source.client(), lane.keys, arguments.voucher);
    });
    if (!unstored.ok() && !may_pass(unstored)) return unstored.status();
    if (!unstored.ok()) {
      say_only_stored(unstored.status());
      break;
    }
    std::ranges::move(unstored->queued, std::back_inserter(queued));
  }
  return queued;
}

/// Visits the stored orders, then those that only the keyspace knows.
absl::Status visit_orders(const OrdersArguments& arguments, const OrderSource& source,
                          VisitListed visit) {
  // First, so that an order that is stored meanwhile is met in one of both.
  ASSIGN_OR_RETURN(const auto queued, read_queued(arguments, source));
  absl::flat_hash_set<OrderId> awaited;
  for (const Order& order : queued) awaited.insert(order.id);
  absl::flat_hash_set<OrderId> visited;
  const auto status = find_order_status(arguments.state);
  if (arguments.state.empty() || status) {
    RETURN_IF_ERROR(visit_stored(arguments, source.orders(), status, [&](const ListedOrder& one) {
      if (awaited.contains(one.order.id)) visited.insert(one.order.id);
      visit(one);
    }));
  }
  RETURN_IF_ERROR(visit_queued(arguments, source, queued, visited, visit));
  if (!source.has_keyspace() || !is_asked_for(arguments, kFailed)) return absl::OkStatus();
  absl::Status failed = visit_failed(arguments, source, visit);
  if (!may_pass(failed)) return failed;
  say_only_stored(failed);
  return absl::OkStatus();
}

class OrderTable {
 public:
  OrderTable() : table_("rrrlrrllll") {
    table_.add({"order", "user", "voucher", "state", "quantity", "price", "admitted at", "due at",
                "reference", ""});
  }

  void add(const ListedOrder& listed) {
    const Order& order = listed.order;
    table_.add({std::to_string(order.id), order.user.text(), std::to_string(order.voucher),
                std::string(listed.state), std::to_string(order.quantity),
                grouped(order.price_cents), format_utc(order.admitted_at_ms),
                time_or_nothing(order.due_at_ms), order.reference, listed.reason});
  }
  [[nodiscard]] std::string text() const { return table_.text(); }

 private:
  TextTable table_;
};

/// Visits the stored orders at a service.
absl::Status visit_at_service(const OrdersArguments& arguments, VisitListed visit) {
  ASSIGN_OR_RETURN(const auto service, service_of(arguments.sale));
  // With a user's token, the orders of this user alone can be listed.
  std::string target =
      arguments.user ? user_orders_target(*arguments.user) : std::string("/v1/orders");
  if (!arguments.user && arguments.voucher) {
    target = with_query(target, "voucher", std::to_string(*arguments.voucher));
  }
  return for_each_at(service, arguments.sale.patience, target, "orders", [&](const Json& json) {
    const Order order = order_from_json(json);
    const std::string_view state = order_status_name(order.status);
    if (is_asked_for(arguments, order) && is_asked_for(arguments, state)) {
      visit({.order = order, .state = state});
    }
  });
}

absl::Status visit_orders(const OrdersArguments& arguments, VisitListed visit) {
  if (!arguments.sale.server.empty()) return visit_at_service(arguments, visit);
  const auto source = open_order_source(arguments.sale);
  return source.ok() ? visit_orders(arguments, *source, visit) : source.status();
}

int run_orders(const OrdersArguments& arguments) {
  Json array = Json::array();
  OrderTable table;
  const absl::Status visited = visit_orders(arguments, [&](const ListedOrder& listed) {
    if (arguments.json) {
      array.push_back(listed_json(listed));
    } else {
      table.add(listed);
    }
  });
  if (!visited.ok()) return fail(visited);
  fmt::print("{}", arguments.json ? dump(array) : table.text());
  return kExitOk;
}

/// Checks that a name is a state of a stored order, or of one that is not stored.
CLI::Validator is_state() {
  const auto check = [](const std::string& name) -> std::string {
    if (find_order_status(name) || name == kQueued || name == kFailed) return {};
    return fmt::format("'{}' is not a state of an order", name);
  };
  return {check, ""};
}

}  // namespace

void add_orders(CLI::App& app, Invocation& invocation) {
  CLI::App* const command = add_command(
      app, "orders", "List orders: those stored, then those queued, then those failed.");
  const auto arguments = std::make_shared<OrdersArguments>();
  add_sale_options(*command, arguments->sale);
  add_server_option(*command, arguments->sale);
  add_user_option(*command, "--user", "Only this user's orders", [arguments](const UserId& user) {
    arguments->user = user;
  })->type_name("ID");
  command->add_option("--voucher", arguments->voucher, "Only this voucher's orders")
      ->type_name("ID");
  command->add_option("--state", arguments->state, "Only orders in this state")
      ->check(is_state())
      ->type_name("created|unpaid|paid|used|refunding|cancelled|refunded|queued|failed");
  command->add_flag("--json", arguments->json, "As a JSON array");
  add_copy_of_orders(*command, invocation);
  command->callback([command, &invocation, arguments] {
    if (!command->get_subcommands().empty()) return;
    invocation.run = [arguments](const std::shared_ptr<spdlog::logger>& logger) {
      arguments->sale.logger = logger;
      return run_orders(*arguments);
    };
  });
}

}  // namespace rushgate
