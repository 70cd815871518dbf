#include "tests/bench/order_workers.h"

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "tests/bench/shop.h"

namespace rushgate::bench {

OrderWorkers::OrderWorkers(Backend& backend, OrderStore& orders, int count,
                           const WorkerOptions& options) {
  constexpr std::int64_t kBlockMs = 10'000;
  for (int i = 0; i < count; ++i) {
    WorkerOptions own = options;
    own.consumer = "c" + std::to_string(i);
    own.block_ms = kBlockMs;
    auto worker = std::make_unique<OrderWorker>(backend, orders, SaleKeys{}, own);
    threads_.push_back(std::make_unique<OrderWorkerThread>(std::move(worker)));
  }
}

void OrderWorkers::wait_until_stored(std::int64_t orders) const {
  constexpr std::chrono::microseconds kLookAgain{200};
  while (stored() < static_cast<std::size_t>(orders)) std::this_thread::sleep_for(kLookAgain);
}

std::size_t OrderWorkers::stored() const {
  std::size_t sum = 0;
  for (const auto& thread : threads_) {
    if (!thread->pause_reason().empty()) fail(thread->pause_reason());
    sum += thread->stored();
  }
  return sum;
}

}  // namespace rushgate::bench
