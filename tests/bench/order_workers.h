// The workers that store a shop's orders, each on a thread of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/sale/orders/order_store.h"
#include "engine/sale/orders/order_worker.h"
#include "tests/bench/shop.h"

namespace rushgate::bench {

/// They work from its making to its end. Does not own the shop.
class OrderWorkers {
 public:
  OrderWorkers(Shop& shop, int count, int batch);

  /// Until so many orders are in the store. Aborts if a worker pauses.
  void wait_until_stored(std::int64_t orders) const;

 private:
  [[nodiscard]] std::size_t stored() const;

  std::vector<std::unique_ptr<OrderWorkerThread>> threads_;
};

}  // namespace rushgate::bench
