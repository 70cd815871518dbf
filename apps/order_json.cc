#include "apps/order_json.h"

#include <cstdint>
#include <string>

#include "adapters/flash_sale/utc_time.h"

namespace rushgate {
namespace {

using Json = nlohmann::ordered_json;

/// Returns the time; null for 0, which means that there is none.
Json time_or_null(std::int64_t ms) { return ms == 0 ? Json(nullptr) : Json(format_utc(ms)); }

/// Returns the number, or the name as a string.
Json user_json(const UserId& user) {
  return user.is_number() ? Json(user.number()) : Json(user.name());
}

}  // namespace

Json to_json(const Order& order) {
  return {{"order", std::to_string(order.id)},
          {"user", user_json(order.user)},
          {"voucher", order.voucher},
          {"state", order_status_name(order.status)},
          {"quantity", order.quantity},
          {"price_cents", order.price_cents},
          {"admitted_at", format_utc(order.admitted_at_ms)},
          {"created_at", time_or_null(order.created_at_ms)},
          {"due_at", time_or_null(order.due_at_ms)},
          {"reference", order.reference},
          {"version", order.version},
          {"keeps_stock", order.keeps_stock},
          {"keeps_allowance", order.keeps_allowance},
          {"idempotency_key", order.idempotency_key}};
}

Json to_json(const Payment& payment) {
  return {{"payment", payment.id},
          {"order", std::to_string(payment.order)},
          {"amount_cents", payment.amount_cents},
          {"state", payment_state_name(payment.state)},
          {"received_at", format_utc(payment.received_at_ms)},
          {"refunded_at", time_or_null(payment.refunded_at_ms)},
          {"reason", payment.reason}};
}

Json to_json(const OrderChange& change) {
  return {{"position", change.position},
          {"order", std::to_string(change.order)},
          {"from", order_status_name(change.from)},
          {"to", order_status_name(change.to)},
          {"at", format_utc(change.at_ms)},
          {"reason", change.reason},
          {"actor", change.actor}};
}

std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace rushgate
