// Adopting a voucher that another system sells under the same keys.
#pragma once

#include <functional>
#include <span>

#include "absl/status/status.h"
#include <rushgate/client.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// Stores an order for each buyer of `voucher` that no worker will store: the other system has it
/// in a database of its own. The row has a new id and the entry 0-0.
///
/// Leaves buyers whose entries the workers' group has not acknowledged to the workers. May be
/// repeated. Reads all buyers and the whole order stream, in bounded portions.
absl::Status import_buyers(Client& client, const SaleStores& stores, const SaleKeys& keys,
                           const Voucher& voucher,
                           const std::function<absl::Status(std::span<OrderId>)>& draw_ids);

}  // namespace rushgate
