// The routes of the server: one table, from which requests are dispatched and /openapi.json is made.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/http/access.h"
#include "adapters/http/exchange.h"
#include "adapters/http/problem.h"
#include <rushgate/flash_sale.h>

namespace rushgate::http {

class SaleService;

/// A request with everything that its route takes from it.
struct RouteCall {
  SaleService& service;
  HttpCall http = {};
  Caller caller = {};
  Json body = {};  // an object

  // The parts of the path, as far as the route has them:
  VoucherId voucher = 0;  // {voucher}
  OrderId order = 0;      // {order}
  UserId user = {};       // {user}
  std::string name = {};  // {payment}, {letter}

  // The query of a list:
  std::string after = {};  // the position behind which it begins; empty: from the first
  bool is_newest_first = false;
  std::size_t limit = 100;
  std::string state = {};  // of orders or payments; empty: any
  std::optional<VoucherId> only_voucher = {};
  std::optional<OrderId> only_order = {};
  std::optional<UserId> only_user = {};
  std::optional<std::string> only_reference = {};

  [[nodiscard]] FlashSale& sale() const;
};

/// Where the handler of a route runs. Each has a bounded queue and threads of its own, so that one that
/// waits for the database delays no other.
enum class Lane : std::uint8_t {
  kNow,        // on the connection's thread: it must not block
  kPurchases,  // in batches
  kPayments,   // in batches
  kChanges,
  kReads,
  kVisits,  // of the entrance, which asks the keyspace alone
};

/// All lanes, in the order of their numbers.
inline constexpr std::array kLanes = {Lane::kNow,     Lane::kPurchases, Lane::kPayments,
                                      Lane::kChanges, Lane::kReads,     Lane::kVisits};
static_assert(kLanes.size() == static_cast<std::size_t>(Lane::kVisits) + 1);
/// Returns "now", "purchases", …
std::string_view lane_name(Lane lane);

/// A reply in /openapi.json.
struct DocumentedReply {
  int status = 200;
  std::string_view schema;  // of components/schemas, or a media type
};
inline constexpr std::string_view kEventStream = "text/event-stream";

struct Route {
  std::string_view method;
  std::string_view path;  // "/v1/vouchers/{voucher}"
  Access access = Access::kAnyone;
  Lane lane = Lane::kNow;
  HttpAnswer (*handler)(RouteCall& call) = nullptr;  // null: kPurchases and kPayments

  // For /openapi.json:
  std::string_view operation;
  std::string_view summary;
  std::string_view body = {};  // the schema of the request; empty: it has none
  std::vector<DocumentedReply> replies = {};
  std::vector<ProblemType> problems = {};    // besides those that any route has
  std::vector<std::string_view> query = {};  // the parameters that it takes

  [[nodiscard]] bool is_write() const { return method != "GET"; }
};

/// Returns all routes.
std::span<const Route> routes();

/// Reads the user of a path or of a query. Returns the fault; empty: there is none.
std::string read_user(const std::string& text, UserId& user);

/// A route that was found for a path.
struct FoundRoute {
  const Route* route = nullptr;  // null: the path is unknown, or not with this method
  std::string allowed = {};      // the methods of the path, as in "GET, PUT"
};
/// Finds the route of a path, and sets the parts that it takes from it. Sets `fault` if one of them is
/// invalid.
FoundRoute find_route(std::string_view method, const std::vector<std::string>& path,
                      RouteCall& call, std::string& fault);

// ---- Handlers ----

HttpAnswer list_vouchers(RouteCall& call);
HttpAnswer get_voucher(RouteCall& call);
HttpAnswer put_voucher(RouteCall& call);
HttpAnswer add_stock(RouteCall& call);
HttpAnswer close_voucher(RouteCall& call);
HttpAnswer archive_voucher(RouteCall& call);
HttpAnswer refund_voucher(RouteCall& call);
HttpAnswer wait_for_voucher(RouteCall& call);
HttpAnswer leave_waiting_list(RouteCall& call);
HttpAnswer visit_entrance(RouteCall& call);
HttpAnswer list_waiting(RouteCall& call);

HttpAnswer stream_orders(RouteCall& call);
HttpAnswer stream_vouchers(RouteCall& call);

HttpAnswer get_order(RouteCall& call);
HttpAnswer list_orders_of_user(RouteCall& call);
HttpAnswer list_orders(RouteCall& call);
HttpAnswer list_changes(RouteCall& call);
HttpAnswer count_orders(RouteCall& call);
HttpAnswer cancel_order(RouteCall& call);
HttpAnswer use_order(RouteCall& call);
HttpAnswer refund_order(RouteCall& call);
HttpAnswer list_payments(RouteCall& call);
HttpAnswer confirm_refund(RouteCall& call);

HttpAnswer list_dead_letters(RouteCall& call);
HttpAnswer list_discarded_letters(RouteCall& call);
HttpAnswer retry_dead_letter(RouteCall& call);
HttpAnswer discard_dead_letter(RouteCall& call);
HttpAnswer begin_audit(RouteCall& call);
HttpAnswer get_audit(RouteCall& call);
HttpAnswer begin_backup(RouteCall& call);
HttpAnswer get_backup(RouteCall& call);
HttpAnswer get_statistics(RouteCall& call);
HttpAnswer get_metrics(RouteCall& call);
HttpAnswer get_health(RouteCall& call);
HttpAnswer get_readiness(RouteCall& call);
HttpAnswer get_openapi(RouteCall& call);
HttpAnswer get_server(RouteCall& call);

// ---- Purchases and payments ----

/// Reads a purchase. Returns the refusal, if any.
std::optional<HttpAnswer> read_purchase(const RouteCall& call, BuyRequest& request);
HttpAnswer answer_purchase(const BuyRequest& request, const BuyResult& result, std::int64_t now_ms);
/// Reads a payment. Returns the refusal, if any.
std::optional<HttpAnswer> read_payment(const RouteCall& call, PayRequest& request);
HttpAnswer answer_change(OrderId order, const ChangeResult& result);

// ---- Changes of orders ----

/// The reason of a change, and its author.
struct OrderChangeNote {
  std::string reason = {};
  std::string actor = {};
};
/// Reads both from the body. Returns the refusal, if any.
std::optional<HttpAnswer> read_change(const RouteCall& call, OrderChangeNote& note);

}  // namespace rushgate::http
