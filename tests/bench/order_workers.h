// The workers that store a shop's orders, each on its own thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/bench/shop.h"
#include <rushgate/order_store.h>
#include <rushgate/order_worker.h>
#include <rushgate/order_worker_thread.h>

namespace rushgate::bench {

/// Works from construction to destruction. Does not own the shop.
class OrderWorkers {
 public:
  OrderWorkers(Shop& shop, int count, int batch);

  /// Blocks until so many orders are stored. Aborts if a worker pauses.
  void wait_until_stored(std::int64_t orders) const;

 private:
  [[nodiscard]] std::size_t stored() const;

  std::vector<std::unique_ptr<OrderWorkerThread>> threads_;
};

}  // namespace rushgate::bench
