// The workers that store a sale's orders, each on its own thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <rushgate/backend.h>
#include <rushgate/order_store.h>
#include <rushgate/order_worker.h>
#include <rushgate/order_worker_thread.h>

namespace rushgate::bench {

/// Works from construction to destruction, with the keys of a default sale. Does not own its arguments.
class OrderWorkers {
 public:
  OrderWorkers(Backend& backend, OrderStore& orders, int count, const WorkerOptions& options);

  /// Blocks until so many orders are stored. Aborts if a worker pauses.
  void wait_until_stored(std::int64_t orders) const;

 private:
  [[nodiscard]] std::size_t stored() const;

  std::vector<std::unique_ptr<OrderWorkerThread>> threads_;
};

}  // namespace rushgate::bench
