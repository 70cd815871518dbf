// The rules of payments and holds, applied to the keyspace and the database.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include <rushgate/client.h>
#include <rushgate/order_store.h>
#include <rushgate/payment_store.h>
#include <rushgate/sale.h>
#include <rushgate/sale_keys.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// Checks payments and holds:
/// - a paid or used order that demanded payment has one kept payment, of its amount, and no other
///   order has one;
/// - an order is held if and only if it is unpaid;
/// - no user waits for a voucher that is on sale and has free pieces.
///
/// Both may change meanwhile: a contradiction is read once more, in the order in which changes
/// move. Memory: a hundred bytes for each hold and each kept payment.
class PaymentAuditor {
 public:
  PaymentAuditor(Client& client, const SaleStores& stores, const SaleKeys& keys)
      : client_(client), stores_(stores), orders_(stores.orders), keys_(keys) {}

  /// Adds the money and the problems to `report`. Does nothing if the store keeps no payments.
  absl::Status run(AuditReport& report);

  /// An order that is unpaid and not held, or held and not unpaid.
  struct WrongHold {
    Order order;
    bool is_held = false;
  };
  absl::StatusOr<std::vector<WrongHold>> find_wrong_holds();

 private:
  absl::Status check_payments(AuditReport& report);
  absl::Status check_holds(AuditReport& report);
  absl::Status check_waiting(AuditReport& report);

  Client& client_;
  const SaleStores stores_;
  OrderStore& orders_;
  const SaleKeys& keys_;
};

}  // namespace rushgate
