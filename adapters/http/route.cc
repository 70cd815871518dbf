#include "adapters/http/route.h"

#include <algorithm>
#include <utility>

#include "engine/core/base/concat.h"
#include <rushgate/maybe_integer.h>
#include <rushgate/metrics.h>

namespace rushgate::http {
namespace {

/// Cuts the next part of a route's path off, and returns it.
std::string_view next_part(std::string_view& path) {
  path.remove_prefix(1);  // the slash
  const std::size_t end = std::min(path.find('/'), path.size());
  const std::string_view part = path.substr(0, end);
  path.remove_prefix(end);
  return part;
}

bool has_path(const Route& route, const std::vector<std::string>& path) {
  std::string_view rest = route.path;
  for (const std::string& part : path) {
    if (rest.empty()) return false;
    const std::string_view wanted = next_part(rest);
    if (wanted.starts_with('{') ? part.empty() : wanted != part) return false;
  }
  return rest.empty();
}

/// Sets the part of the path that the route calls `name`. Returns its fault.
std::string take_part(std::string_view name, const std::string& part, RouteCall& call) {
  if (name == "{user}") return read_user(part, call.user);
  if (name != "{voucher}" && name != "{order}") {
    call.name = part;
    return {};
  }
  const auto id = parse_int64(part);
  if (!id) return "must be a whole number";
  (name == "{order}" ? call.order : call.voucher) = *id;
  return {};
}

void take_parts(const Route& route, const std::vector<std::string>& path, RouteCall& call,
                std::string& fault) {
  std::string_view rest = route.path;
  for (const std::string& part : path) {
    const std::string_view name = next_part(rest);
    if (!name.starts_with('{') || !fault.empty()) continue;
    const std::string wrong = take_part(name, part, call);
    if (!wrong.empty()) fault = concat("the path's ", name, " ", wrong);
  }
}

}  // namespace

std::string read_user(const std::string& text, UserId& user) {
  user = UserId(text);
  const std::string fault = user.find_fault();
  return fault.empty() ? fault : concat("is no user: ", fault);
}

FoundRoute find_route(std::string_view method, const std::vector<std::string>& path,
                      RouteCall& call, std::string& fault) {
  FoundRoute found;
  for (const Route& route : routes()) {
    if (!has_path(route, path)) continue;
    if (route.method == method) {
      found.route = &route;
      take_parts(route, path, call, fault);
      return found;
    }
    found.allowed += (found.allowed.empty() ? "" : ", ") + std::string(route.method);
  }
  return found;
}

std::string_view lane_name(Lane lane) {
  switch (lane) {
    case Lane::kNow:
      return "now";
    case Lane::kPurchases:
      return "purchases";
    case Lane::kPayments:
      return "payments";
    case Lane::kChanges:
      return "changes";
    case Lane::kReads:
      return "reads";
    case Lane::kVisits:
      return "visits";
  }
  return "?";
}

std::span<const Route> routes() {
  using enum Access;
  using enum Lane;
  static const std::vector<Route> kRoutes = {
      // clang-format off
      // ---- Vouchers ----
      {.method = "GET", .path = "/v1/vouchers", .access = kAnyone, .lane = kReads,
       .handler = list_vouchers, .operation = "listVouchers",
       .summary = "Lists the vouchers in ascending order of ids; the counts are at most 250 ms old.",
       .replies = {{200, "VoucherList"}}, .problems = {}, .query = {"after", "limit"}},
      {.method = "GET", .path = "/v1/vouchers/events", .access = kAnyone, .lane = kReads,
       .handler = stream_vouchers, .operation = "streamVouchers",
       .summary = "Sends the free stock and the sales per second of all vouchers, and then those that change, at most four times a second.",
       .replies = {{200, kEventStream}}},
      {.method = "GET", .path = "/v1/vouchers/{voucher}", .access = kAnyone, .lane = kReads,
       .handler = get_voucher, .operation = "getVoucher",
       .summary = "Returns a voucher, its free stock and the number admitted.",
       .replies = {{200, "Voucher"}}, .problems = {kUnknownVoucher}},
      {.method = "PUT", .path = "/v1/vouchers/{voucher}", .access = kOperator, .lane = kChanges,
       .handler = put_voucher, .operation = "putVoucher",
       .summary = "Publishes a voucher, or changes it. `If-Match` names the version that must be in force; with `If-None-Match: *` a voucher that was published before stays as it is.",
       .body = "VoucherTerms", .replies = {{201, "Voucher"}, {200, "Voucher"}},
       .problems = {kRefused, kVersionChanged}},
      {.method = "POST", .path = "/v1/vouchers/{voucher}/stock", .access = kOperator, .lane = kChanges,
       .handler = add_stock, .operation = "addStock",
       .summary = "Publishes `delta` more pieces, fewer if it is negative.",
       .body = "StockChange", .replies = {{200, "Voucher"}}, .problems = {kUnknownVoucher, kRefused, kOutcomeUnknown}},
      {.method = "POST", .path = "/v1/vouchers/{voucher}/close", .access = kOperator, .lane = kChanges,
       .handler = close_voucher, .operation = "closeVoucher",
       .summary = "Ends the sale of a voucher now. Unpaid orders may still be paid.",
       .replies = {{200, "Voucher"}}, .problems = {kUnknownVoucher, kRefused}},
      {.method = "POST", .path = "/v1/vouchers/{voucher}/archive", .access = kOperator, .lane = kChanges,
       .handler = archive_voucher, .operation = "archiveVoucher",
       .summary = "Ends the sale of a closed voucher for good, and moves its orders to the archive.",
       .body = "Archiving", .replies = {{200, "Archived"}}, .problems = {kUnknownVoucher, kRefused}},
      {.method = "POST", .path = "/v1/vouchers/{voucher}/refund", .access = kOperator, .lane = kChanges,
       .handler = refund_voucher, .operation = "refundVoucher",
       .summary = "Refunds all orders of a voucher, and cancels the unpaid ones.",
       .body = "Reason", .replies = {{200, "RefundedVoucher"}}, .problems = {kUnknownVoucher}},

      // ---- Buying ----
      {.method = "POST", .path = "/v1/vouchers/{voucher}/orders", .access = kBuyer, .lane = kPurchases,
       .operation = "buy",
       .summary = "Buys. A repetition with the same `Idempotency-Key` gets the order of the first request, as it is now.",
       .body = "Purchase", .replies = {{201, "AcceptedOrder"}, {200, "AcceptedOrder"}},
       .problems = {kUnknownVoucher, kSoldOut, kLimitReached, kDayLimitReached, kTokenRefused, kNotStarted, kEnded, kRefused,
                    kKeyReused, kOutcomeUnknown}},
      {.method = "POST", .path = "/v1/vouchers/{voucher}/entrance", .access = kBuyer, .lane = kVisits,
       .handler = visit_entrance, .operation = "enter",
       .summary = "Lets a user wait for a purchase token of a voucher that needs one. Repeat the request until the reply has the token.",
       .body = "Waiting", .replies = {{200, "Entered"}, {202, "Queued"}},
       .problems = {kUnknownVoucher, kRefused}},
      {.method = "GET", .path = "/v1/vouchers/{voucher}/waiting", .access = kOperator, .lane = kReads,
       .handler = list_waiting, .operation = "listWaiting",
       .summary = "Lists the users that wait for a piece, in the order of their arrival.",
       .replies = {{200, "UserList"}}, .problems = {kUnknownVoucher}, .query = {"after", "limit"}},
      {.method = "POST", .path = "/v1/vouchers/{voucher}/waiting", .access = kBuyer, .lane = kChanges,
       .handler = wait_for_voucher, .operation = "wait",
       .summary = "Lets a user wait for a piece of a sold-out voucher.",
       .body = "Waiting", .replies = {{200, "Place"}},
       .problems = {kUnknownVoucher, kLimitReached, kEnded, kNoWaitingList, kWaitingListFull, kPiecesFree, kOutcomeUnknown}},
      {.method = "DELETE", .path = "/v1/vouchers/{voucher}/waiting/{user}", .access = kBuyer,
       .lane = kChanges, .handler = leave_waiting_list, .operation = "leaveWaitingList",
       .summary = "Ends a user's waiting.", .replies = {{200, "Left"}}},

      // ---- Orders ----
      {.method = "GET", .path = "/v1/orders/{order}", .access = kBuyer, .lane = kReads,
       .handler = get_order, .operation = "getOrder",
       .summary = "Returns an order, its payments and its changes.",
       .replies = {{200, "OrderWithHistory"}}, .problems = {kUnknownOrder}},
      {.method = "GET", .path = "/v1/orders", .access = kOperator, .lane = kReads,
       .handler = list_orders, .operation = "listOrders",
       .summary = "Lists the stored orders. With `reference` or `state`, a page may have fewer than `limit`, also none: those among the orders that the request looked at.",
       .replies = {{200, "OrderList"}}, .problems = {},
       .query = {"after", "limit", "reference", "sort", "state", "user", "voucher"}},
      {.method = "GET", .path = "/v1/changes", .access = kOperator, .lane = kReads,
       .handler = list_changes, .operation = "listChanges",
       .summary = "Lists the recorded changes of orders, oldest first. A page may have fewer than `limit`.",
       .replies = {{200, "ChangeList"}}, .problems = {}, .query = {"after", "limit", "order", "voucher"}},
      {.method = "GET", .path = "/v1/counts", .access = kOperator, .lane = kReads,
       .handler = count_orders, .operation = "countOrders",
       .summary = "Counts the free pieces now, and the stored orders as they were `age_ms` ago.",
       .replies = {{200, "Counts"}}, .problems = {}, .query = {"voucher"}},
      {.method = "GET", .path = "/v1/users/{user}/orders", .access = kBuyer, .lane = kReads,
       .handler = list_orders_of_user, .operation = "listOrdersOfUser",
       .summary = "Lists the stored orders of a user.",
       .replies = {{200, "OrderList"}}, .problems = {kForbidden}, .query = {"after", "limit", "sort"}},
      {.method = "POST", .path = "/v1/orders/{order}/payments", .access = kOperator, .lane = kPayments,
       .operation = "pay",
       .summary = "Records a payment of an order. A repetition with the same payment changes nothing. One that comes too late is due back.",
       .body = "PaymentNotice", .replies = {{200, "Changed"}},
       .problems = {kUnknownOrder, kTooLate, kRefused, kOutcomeUnknown}},
      {.method = "POST", .path = "/v1/orders/{order}/cancel", .access = kBuyer, .lane = kChanges,
       .handler = cancel_order, .operation = "cancel", .summary = "Cancels an unpaid order.",
       .body = "Reason", .replies = {{200, "Changed"}},
       .problems = {kUnknownOrder, kTooLate, kOutcomeUnknown}},
      {.method = "POST", .path = "/v1/orders/{order}/use", .access = kOperator, .lane = kChanges,
       .handler = use_order, .operation = "use", .summary = "Records that a created or paid order was used.",
       .body = "Actor", .replies = {{200, "Changed"}},
       .problems = {kUnknownOrder, kTooLate, kRefused, kOutcomeUnknown}},
      {.method = "POST", .path = "/v1/orders/{order}/refund", .access = kOperator, .lane = kChanges,
       .handler = refund_order, .operation = "refund",
       .summary = "Refunds a created, paid or used order: its payments become due back.",
       .body = "Reason", .replies = {{200, "Changed"}},
       .problems = {kUnknownOrder, kTooLate, kRefused, kOutcomeUnknown}},

      // ---- Payments ----
      {.method = "GET", .path = "/v1/payments", .access = kOperator, .lane = kReads,
       .handler = list_payments, .operation = "listPayments",
       .summary = "Lists payments in ascending order of ids. A page may have fewer than `limit`.",
       .replies = {{200, "PaymentList"}}, .problems = {},
       .query = {"after", "limit", "order", "state", "voucher"}},
      {.method = "POST", .path = "/v1/payments/{payment}/confirm-refund", .access = kOperator,
       .lane = kChanges, .handler = confirm_refund, .operation = "confirmRefund",
       .summary = "Records that a payment which is due was refunded.",
       .replies = {{200, "RefundedPayment"}}, .problems = {kRefused}},

      // ---- Events ----
      {.method = "GET", .path = "/v1/events", .access = kOperator, .lane = kReads,
       .handler = stream_orders, .operation = "streamOrders",
       .summary = "Sends every recorded change of an order, as server-sent events. An event's id is its position. `Last-Event-ID`, or `after`, is the last one that the client has; without both, the events begin with the first.",
       .replies = {{200, kEventStream}}, .problems = {}, .query = {"after"}},

      // ---- Operating ----
      {.method = "GET", .path = "/v1/dead-letters", .access = kOperator, .lane = kReads,
       .handler = list_dead_letters, .operation = "listDeadLetters",
       .summary = "Lists the orders that could not be stored, oldest first.",
       .replies = {{200, "DeadLetterList"}}, .problems = {}, .query = {"after", "limit"}},
      {.method = "GET", .path = "/v1/dead-letters/discarded", .access = kOperator, .lane = kReads,
       .handler = list_discarded_letters, .operation = "listDiscardedLetters",
       .summary = "Lists the discarded dead letters, oldest first.",
       .replies = {{200, "DiscardedLetterList"}}, .problems = {}, .query = {"after", "limit"}},
      {.method = "POST", .path = "/v1/dead-letters/{letter}/retry", .access = kOperator, .lane = kChanges,
       .handler = retry_dead_letter, .operation = "retryDeadLetter",
       .summary = "Returns a dead letter to the order stream.", .replies = {{200, "RetriedLetter"}}},
      {.method = "POST", .path = "/v1/dead-letters/{letter}/discard", .access = kOperator, .lane = kChanges,
       .handler = discard_dead_letter, .operation = "discardDeadLetter",
       .summary = "Discards a dead letter. Its order stays admitted.",
       .body = "DiscardReason", .replies = {{200, "DiscardedLetter"}}},
      {.method = "POST", .path = "/v1/audit", .access = kOperator, .lane = kNow, .handler = begin_audit,
       .operation = "beginAudit", .summary = "Begins an audit of the whole sale, unless one is running.",
       .body = "AuditRequest", .replies = {{202, "Audit"}}},
      {.method = "GET", .path = "/v1/audit", .access = kOperator, .lane = kNow, .handler = get_audit,
       .operation = "getAudit", .summary = "Returns the last audit.",
       .replies = {{200, "Audit"}}, .problems = {kNotFound}},
      {.method = "POST", .path = "/v1/backup", .access = kOperator, .lane = kChanges,
       .handler = begin_backup, .operation = "beginBackup",
       .summary = "Begins a backup to the directory that the server was started with, unless one is being made.",
       .body = "BackupRequest", .replies = {{202, "Backup"}}, .problems = {kRefused}},
      {.method = "GET", .path = "/v1/backup", .access = kOperator, .lane = kNow,
       .handler = get_backup, .operation = "getBackup", .summary = "Returns the state of the last backup.",
       .replies = {{200, "Backup"}}, .problems = {kNotFound}},
      {.method = "GET", .path = "/v1/statistics", .access = kOperator, .lane = kReads,
       .handler = get_statistics, .operation = "getStatistics",
       .summary = "Returns the figures of the sale and of the server, as they are counted since the start.",
       .replies = {{200, "Statistics"}}},
      {.method = "GET", .path = "/metrics", .access = kOperator, .lane = kReads,
       .handler = get_metrics, .operation = "getMetrics",
       .summary = "Returns the same figures in Prometheus's text format.",
       .replies = {{200, kMetricsType}}},
      {.method = "GET", .path = "/healthz", .access = kAnyone, .lane = kNow, .handler = get_health,
       .operation = "getHealth", .summary = "Replies while the server runs.", .replies = {{200, "Health"}}},
      {.method = "GET", .path = "/readyz", .access = kAnyone, .lane = kReads, .handler = get_readiness,
       .operation = "getReadiness", .summary = "Replies with 200 while the sale can sell.",
       .replies = {{200, "Health"}}},
      {.method = "GET", .path = "/v1/server", .access = kAnyone, .lane = kNow, .handler = get_server,
       .operation = "getServer", .summary = "Returns the server's time, and what pages need to know of it.",
       .replies = {{200, "Server"}}},
      {.method = "GET", .path = "/openapi.json", .access = kAnyone, .lane = kNow, .handler = get_openapi,
       .operation = "getOpenapi", .summary = "Returns this document.", .replies = {{200, "Document"}}},
      // clang-format on
  };
  return kRoutes;
}

}  // namespace rushgate::http
