// Taking over a voucher that another system sells under the same keys.
#pragma once

#include <functional>
#include <span>

#include "absl/status/status.h"
#include "engine/client/client.h"
#include "engine/sale/orders/order_store.h"
#include "engine/sale/sale_keys.h"
#include "engine/sale/vouchers/voucher.h"

namespace rushgate {

/// Gives each buyer of `voucher` an order row if no worker will: the other system has stored that
/// order in a database of its own. The row has a new id and the entry 0-0. Buyers whose entries the
/// workers' group has yet to acknowledge get theirs from the stream. May be repeated. Reads all
/// buyers, and the whole order stream, in bounded portions.
absl::Status import_buyers(Client& client, OrderStore& orders, const SaleKeys& keys,
                           const Voucher& voucher,
                           const std::function<absl::Status(std::span<OrderId>)>& draw_ids);

}  // namespace rushgate
