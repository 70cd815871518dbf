#include "engine/keyspace/lazy_free.h"

#include <exception>

namespace rushgate {

void LazyFree::use_thread() {
  const std::lock_guard lock(mutex_);
  may_use_thread_ = true;
}

void LazyFree::stop() {
  {
    const std::lock_guard lock(mutex_);
    may_use_thread_ = false;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void LazyFree::free(const Item& item) noexcept {
  if (!may_free_at_once(item) && leave_to_thread(item)) return;
  item.destroy(item.value);
  count_at_once(item);
}

bool LazyFree::may_free_at_once(const Item& item) {
  if (item.bytes <= kBytesSmallMax) return true;
  if (item.bytes > at_once_left_) return false;
  at_once_left_ -= item.bytes;
  return true;
}

void LazyFree::count_at_once(const Item& item) {
  objects_at_once_.fetch_add(item.objects, std::memory_order_relaxed);
  bytes_at_once_.fetch_add(item.bytes, std::memory_order_relaxed);
}

bool LazyFree::leave_to_thread(const Item& item) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (!may_use_thread_) return false;
    const bool is_first = counts_.bytes_pending == 0;
    if (!is_first && counts_.bytes_pending + item.bytes > kBytesPendingMax) return false;
    if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
    waiting_.push_back(item);
    counts_.objects_pending += item.objects;
    counts_.bytes_pending += item.bytes;
    bytes_pending_ = counts_.bytes_pending;
  } catch (const std::exception&) {
    return false;  // neither memory nor a thread is left
  }
  changed_.notify_one();
  return true;
}

void LazyFree::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return !waiting_.empty() || !may_use_thread_; });
    if (waiting_.empty()) return;
    const Item item = take_first();
    free_taken(item, lock);
    counts_.objects_later += item.objects;
    counts_.bytes_later += item.bytes;
  }
}

void LazyFree::reduce_to(std::size_t bytes) {
  std::unique_lock lock(mutex_);
  while (counts_.bytes_pending > bytes) {
    if (waiting_.empty()) {
      freed_.wait(lock);
      continue;
    }
    const Item item = take_first();
    free_taken(item, lock);
    count_at_once(item);
  }
}

LazyFree::Item LazyFree::take_first() {
  const Item item = waiting_.front();
  waiting_.pop_front();
  return item;
}

void LazyFree::free_taken(const Item& item, std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  item.destroy(item.value);
  lock.lock();
  counts_.objects_pending -= item.objects;
  counts_.bytes_pending -= item.bytes;
  bytes_pending_ = counts_.bytes_pending;
  freed_.notify_all();
}

LazyFree::Counts LazyFree::counts() const {
  const std::lock_guard lock(mutex_);
  Counts counts = counts_;
  counts.objects_at_once = objects_at_once_.load(std::memory_order_relaxed);
  counts.bytes_at_once = bytes_at_once_.load(std::memory_order_relaxed);
  return counts;
}

}  // namespace rushgate
