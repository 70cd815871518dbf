#include "apps/output/export.h"

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "adapters/flash_sale/stored_records.h"
#include "apps/order_json.h"
#include "engine/core/base/status_macros.h"
#include <rushgate/payment_store.h>

namespace rushgate {
namespace {

using Visit = ExportTable::Visit;

constexpr std::size_t kPortion = 1'000;

/// Returns the names of the fields that the JSON of a record has.
template <class Record>
std::vector<std::string> fields_of() {
  const nlohmann::ordered_json record = to_json(Record{});
  std::vector<std::string> names;
  for (const auto& [name, value] : record.items()) names.push_back(name);
  return names;
}

/// Visits those records of a portion whose order is of the voucher.
template <class Record>
absl::Status visit_portion(OrderStore& orders, const std::vector<Record>& portion,
                           std::optional<VoucherId> voucher, const Visit& visit) {
  ASSIGN_OR_RETURN(const auto wanted, those_of(orders, portion, voucher));
  for (const Record& record : wanted) visit(to_json(record));
  return absl::OkStatus();
}

absl::Status read_orders(OrderStore& orders, std::optional<VoucherId> voucher, const Visit& visit) {
  return for_each_order(orders, {.voucher = voucher, .count_max = kPortion},
                        [&](const Order& order) { visit(to_json(order)); });
}

absl::Status read_payments(OrderStore& orders, std::optional<VoucherId> voucher,
                           const Visit& visit) {
  PaymentFilter filter{.count_max = kPortion};
  while (true) {
    ASSIGN_OR_RETURN(const auto portion, orders.payments()->list_payments(filter));
    const absl::Status visited = visit_portion(orders, portion, voucher, visit);
    if (!visited.ok() || portion.size() < kPortion) return visited;
    filter.after = portion.back().id;
  }
}

absl::Status read_history(OrderStore& orders, std::optional<VoucherId> voucher,
                          const Visit& visit) {
  std::int64_t after = 0;
  while (true) {
    const auto portion = orders.payments()->changes(after, kPortion, {});
    if (!portion.ok()) return portion.status();
    const absl::Status visited = visit_portion(orders, *portion, voucher, visit);
    if (!visited.ok() || portion->size() < kPortion) return visited;
    after = portion->back().position;
  }
}

}  // namespace

const std::vector<ExportTable>& export_tables() {
  static const auto* const kTables =
      new std::vector<ExportTable>{{"orders", "orders", fields_of<Order>(), read_orders},
                                   {"payments", "payments", fields_of<Payment>(), read_payments},
                                   {"history", "changes", fields_of<OrderChange>(), read_history}};
  return *kTables;
}

}  // namespace rushgate
