// The idempotency keys of orders, compared with the keyspace.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/sale/stores/archived_vouchers.h"
#include <rushgate/client.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>

namespace rushgate {

/// An order that a repetition of its request would not get.
struct WrongKey {
  OrderId order = 0;
  VoucherId voucher = 0;
  std::string fault;  // behind "order <id> "
  /// The order of another voucher that has the key in the keyspace; 0 if there is none. A rebuild
  /// leaves the key to it.
  OrderId of_other_voucher = 0;
};

/// Returns those of `orders` whose idempotency key the keyspace has lost, or gives to another order,
/// although it has not expired.
absl::StatusOr<std::vector<WrongKey>> find_wrong_keys(Client& client, const SaleKeys& keys,
                                                      std::span<const Order> orders);

/// Visits the orders of archived vouchers that have such a key, in portions. Visits none while the
/// keyspace has lost its keys and none of them is restored (lost_requests.h).
absl::Status for_each_wrong_key_of_archived(
    Client& client, OrderStore& orders, const SaleKeys& keys,
    std::span<const ArchivedVoucher> archived,
    absl::FunctionRef<absl::Status(const Order&, const WrongKey&)> visit);

}  // namespace rushgate
