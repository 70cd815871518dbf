#include "engine/sale/orders/unstored_orders.h"

#include <string>

#include "absl/container/flat_hash_set.h"
#include "engine/sale/orders/order_entry.h"

namespace rushgate {
namespace {

absl::Status append_orders(Client& client, const std::string& stream,
                           std::optional<VoucherId> voucher, StreamId stream_last,
                           StreamId admitted_last, std::vector<Order>& orders) {
  return for_each_entry(client, stream, StreamId::min(), stream_last, [&](const OrderEntry& entry) {
    const auto order = read_order(entry);
    if (order.ok() && order->entry <= admitted_last && (!voucher || order->voucher == *voucher)) {
      orders.push_back(*order);
    }
    return true;
  });
}

}  // namespace

absl::StatusOr<UnstoredOrders> read_unstored_orders(Client& client, const SaleKeys& keys,
                                                    std::optional<VoucherId> voucher,
                                                    StreamId last) {
  // An order dies (stream -> dead letters), and is retried (dead letters -> stream). Reading the
  // dead letters before and after the stream meets either.
  UnstoredOrders unstored;
  std::vector<Order> dead_before;
  const std::string dead = keys.dead_letters();
  absl::Status read = append_orders(client, dead, voucher, StreamId::max(), last, dead_before);
  if (read.ok())
    read =
        append_orders(client, keys.order_stream, voucher, StreamId::max(), last, unstored.queued);
  if (read.ok()) read = append_orders(client, dead, voucher, StreamId::max(), last, unstored.dead);
  if (!read.ok()) return read;

  absl::flat_hash_set<OrderId> met;
  for (const Order& order : unstored.queued) met.insert(order.id);
  for (const Order& order : unstored.dead) met.insert(order.id);
  for (const Order& order :
       dead_before) {  // retried meanwhile, so its entry in the stream is newer than `last`
    if (!met.contains(order.id)) unstored.queued.push_back(order);
  }
  return unstored;
}

}  // namespace rushgate
