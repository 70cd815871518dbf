#include "apps/order_tables.h"

#include "adapters/flash_sale/utc_time.h"

namespace rushgate {

std::string time_or_nothing(std::int64_t ms) { return ms == 0 ? "" : format_utc(ms); }

PaymentTable::PaymentTable() : table_("lrrllll") {
  table_.add({"payment", "order", "cents", "state", "received at", "refunded at", "reason"});
}

void PaymentTable::add(const Payment& payment) {
  table_.add({payment.id, std::to_string(payment.order), grouped(payment.amount_cents),
              std::string(payment_state_name(payment.state)), format_utc(payment.received_at_ms),
              time_or_nothing(payment.refunded_at_ms), payment.reason});
}

ChangeTable::ChangeTable() : table_("lllll") {
  table_.add({"from", "to", "at", "actor", "reason"});
}

void ChangeTable::add(const OrderChange& change) {
  table_.add({std::string(order_status_name(change.from)),
              std::string(order_status_name(change.to)), format_utc(change.at_ms), change.actor,
              change.reason});
}

}  // namespace rushgate
