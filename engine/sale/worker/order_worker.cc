#include <algorithm>
#include <utility>

#include "engine/sale/worker/order_worker_impl.h"
#include <rushgate/order_worker.h>

namespace rushgate {

OrderWorker::OrderWorker(Backend& backend, const SaleStores& stores, const SaleKeys& keys,
                         WorkerOptions options)
    : impl_(std::make_unique<Impl>(backend, stores, keys, std::move(options))) {}

OrderWorker::~OrderWorker() = default;

OrderWorker::Step OrderWorker::step() { return impl_->step(impl_->options().block_ms); }

OrderWorker::Step OrderWorker::wait_and_step(std::int64_t wait_ms_max) {
  const std::int64_t block_ms = impl_->options().block_ms;
  impl_->wait_for_end_of_pause(wait_ms_max);
  return impl_->step(block_ms > 0 ? std::min(block_ms, wait_ms_max) : wait_ms_max);
}

void OrderWorker::interrupt() { impl_->interrupt(); }

std::string_view step_name(OrderWorker::Step::Kind kind) {
  switch (kind) {
    case OrderWorker::Step::Kind::kWorked:
      return "worked";
    case OrderWorker::Step::Kind::kIdle:
      return "idle";
    case OrderWorker::Step::Kind::kPaused:
      return "paused";
  }
  return "?";
}

}  // namespace rushgate
