#include "engine/sale/vouchers/restored_letters.h"

#include <utility>

#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/model/order_entry.h"
#include "engine/sale/stream/dead_letters.h"
#include "engine/sale/stream/lost_orders.h"

namespace rushgate {
namespace {

/// Retries a dead letter without stock. Skips the rebuild if the voucher is sold out.
absl::StatusOr<bool> restore_letter(Client& client, const SaleKeys& keys, VoucherBook& vouchers,
                                    const std::string& letter) {
  ASSIGN_OR_RETURN(auto found, read_dead_letter(client, keys, letter));
  if (!found.has_value()) return false;
  OrderEntry entry = std::move(found->order);
  entry.id = found->entry;
  const auto order = read_order(entry);
  if (!order.ok()) return false;
  const Reply stock = client("GET", keys.stock(order->voucher));
  if (stock.is_error()) return to_status(stock, "retrying a dead letter");
  if (stock == Reply::bulk("0")) return false;
  const LostOrder lost{.order = *order, .entry = std::move(entry), .letter = letter};
  LostOrders orders{.lost = {&lost, 1}};
  const absl::Status rebuilt = vouchers.restore(order->voucher, orders);
  if (absl::IsNotFound(rebuilt)) return false;
  RETURN_IF_ERROR(rebuilt);
  return orders.restored.appended == 1;
}

}  // namespace

absl::StatusOr<bool> retry_or_restore_letter(Client& client, const SaleKeys& keys,
                                             VoucherBook& vouchers, const std::string& id) {
  ASSIGN_OR_RETURN(const auto retried, retry_dead_letter(client, keys, id));
  return retried == Retry::kNeedsRestore ? restore_letter(client, keys, vouchers, id)
                                         : retried == Retry::kDone;
}

}  // namespace rushgate
