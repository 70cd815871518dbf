// Changes of orders that were stored during an audit.
#pragma once

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include <rushgate/payment_store.h>

namespace rushgate {

/// Not thread-safe. Does not own the store, which may be null: then there are no changes.
class LateChanges {
 public:
  explicit LateChanges(PaymentStore* store) : store_(store) {}

  /// Forgets the changes up to now.
  absl::Status begin();
  /// Reads the changes since begin(); to be called after orders were read.
  absl::Status refresh();

  /// Returns the first change of an order since begin(); null if there is none.
  [[nodiscard]] const OrderChange* find(OrderId order) const {
    const auto found = first_.find(order);
    return found == first_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] bool empty() const { return first_.empty(); }

 private:
  PaymentStore* const store_;
  std::int64_t position_ = 0;
  absl::flat_hash_map<OrderId, OrderChange> first_;
};

}  // namespace rushgate
