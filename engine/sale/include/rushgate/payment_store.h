// The port for payments: keeps them, and the changes of orders, in the database of the orders. The
// keyspace decides most changes, and this records them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/order.h>
#include <rushgate/order_store.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// Selects payments. All conditions that are set must hold.
struct PaymentFilter {
  std::optional<OrderId> order = {};
  std::optional<Payment::State> state = {};
  std::string after = {};  // only ids above it, as bytes
  std::size_t count_max = 1'000;
};

/// Keeps payments and the changes of orders. Thread-safe. Errors, durability and atomicity are
/// those of OrderStore.
class PaymentStore {
 public:
  virtual ~PaymentStore() = default;

  /// Applies events in this order, and raises the checkpoint to the fence's, in one transaction.
  /// Returns a result for each event; check_order() and check_event() decide. Records a change for
  /// each order whose state changes, and change_before() for each new one. kAborted if the
  /// database's epoch is not the fence's.
  virtual absl::StatusOr<std::vector<OrderResult>> apply(std::span<const OrderEvent> events,
                                                         const BatchFence& fence) = 0;
  /// Returns the payment with this id; empty if there is none.
  virtual absl::StatusOr<std::optional<Payment>> find_payment(std::string_view id) = 0;
  /// Returns the payments that `filter` selects, in ascending order of ids (as bytes), at most
  /// filter.count_max.
  virtual absl::StatusOr<std::vector<Payment>> list_payments(const PaymentFilter& filter) = 0;
  /// Returns the changes above the position `after`, of one order or of all, in ascending order, at
  /// most `count_max`. Also those of archived orders, until these are deleted.
  virtual absl::StatusOr<std::vector<OrderChange>> changes(std::int64_t after,
                                                           std::size_t count_max,
                                                           std::optional<OrderId> order) = 0;
  /// Returns the greatest position of a change; 0 if there is none.
  virtual absl::StatusOr<std::int64_t> last_position() = 0;
};

/// Visits every payment that `filter` selects, in portions of filter.count_max.
absl::Status for_each_payment(PaymentStore& store, PaymentFilter filter,
                              absl::FunctionRef<void(const Payment&)> visit);

}  // namespace rushgate
