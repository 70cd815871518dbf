#include "tests/bench/order_workers.h"

#include <chrono>
#include <string>
#include <thread>
#include <utility>

namespace rushgate::bench {

OrderWorkers::OrderWorkers(Shop& shop, int count, int batch) {
  constexpr std::int64_t kBlockMs = 10'000;
  for (int i = 0; i < count; ++i) {
    auto worker = std::make_unique<OrderWorker>(
        shop.engine(), shop.orders(), shop.sale().options().keys,
        WorkerOptions{
            .consumer = "c" + std::to_string(i), .batch_max = batch, .block_ms = kBlockMs});
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
