// The order stores that the tests of this folder run on.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "engine/sale/orders/order_store.h"

namespace rushgate {

/// A new, empty order store; what it stands on goes with it.
class OrderStoreBackend {
 public:
  virtual ~OrderStoreBackend() = default;
  virtual OrderStore& store() = 0;
};

struct OrderStoreKind {
  std::string name;
  std::unique_ptr<OrderStoreBackend> (*make)();

  friend void PrintTo(const OrderStoreKind& kind, std::ostream* out) { *out << kind.name; }
};

/// Those that are built.
std::vector<OrderStoreKind> order_store_kinds();

}  // namespace rushgate
