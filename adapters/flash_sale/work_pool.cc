#include "adapters/flash_sale/work_pool.h"

#include <utility>

#include "engine/core/base/thread_name.h"

namespace rushgate {

WorkPool::WorkPool(int threads, std::size_t waiting_max) : waiting_max_(waiting_max) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { loop(); });
}

WorkPool::~WorkPool() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  has_work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool WorkPool::submit(Work work) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= waiting_max_) return false;
    waiting_.push_back(std::move(work));
  }
  has_work_.notify_one();
  return true;
}

std::size_t WorkPool::waiting() {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

void WorkPool::loop() {
  name_this_thread("rg-work");
  std::unique_lock lock(mutex_);
  while (true) {
    has_work_.wait(lock, [this] { return is_stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Work work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
  }
}

}  // namespace rushgate
