#include "adapters/flash_sale/request_lane.h"

#include <utility>

#include "engine/core/base/concat.h"
#include <rushgate/reply.h>

namespace rushgate {
namespace {

std::size_t bytes_of(const ClientBatch& batch) {
  std::size_t bytes = 0;
  for (const Request& request : batch.requests) bytes += request.memory_bytes();
  return bytes;
}

}  // namespace

RequestLane::RequestLane(int threads, std::size_t waiting_max, std::size_t together_max,
                         void (*name_thread)(), Decide decide)
    : waiting_max_(waiting_max), together_max_(together_max), decide_(std::move(decide)) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this, name_thread] { loop(name_thread); });
  }
}

RequestLane::~RequestLane() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  has_batches_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void RequestLane::submit(ClientBatch batch, std::string_view requests) {
  if (enqueue(batch)) return;
  const Reply overloaded =
      Reply::error(concat(error_code::kOverloaded, " too many ", requests, " wait"));
  batch.completion(std::vector<Reply>(batch.requests.size(), overloaded));
}

/// Moves the batch away. Returns false, and leaves it, if too much waits.
bool RequestLane::enqueue(ClientBatch& batch) {
  const std::size_t count = batch.requests.size();
  const std::size_t bytes = bytes_of(batch);
  {
    const std::lock_guard lock(mutex_);
    if (requests_ + count > waiting_max_ || bytes_ + bytes > kBytesMax) return false;
    requests_ += count;
    bytes_ += bytes;
    waiting_.push_back(std::move(batch));
  }
  has_batches_.notify_one();
  return true;
}

/// Takes the oldest batches. The caller holds the lock.
std::vector<ClientBatch> RequestLane::take() {
  std::vector<ClientBatch> taken;
  std::size_t count = 0;
  while (!waiting_.empty() && count < together_max_) {
    count += waiting_.front().requests.size();
    bytes_ -= bytes_of(waiting_.front());
    taken.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  requests_ -= count;
  return taken;
}

void RequestLane::loop(void (*name_thread)()) {
  name_thread();
  std::unique_lock lock(mutex_);
  while (true) {
    has_batches_.wait(lock, [this] { return is_stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    std::vector<ClientBatch> batches = take();
    lock.unlock();
    decide_(std::move(batches));
    lock.lock();
  }
}

}  // namespace rushgate
