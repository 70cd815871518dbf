#include "engine/redis/keyspace/lazy_free.h"

#include <algorithm>
#include <exception>

#include "engine/core/base/thread_name.h"

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
  item.destroy(item.value, [](std::size_t) {});
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
    if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
    waiting_.push_back(item);
    counts_.objects_pending += item.objects;
    counts_.bytes_pending += item.bytes;
    bytes_pending_ = counts_.bytes_pending;
  } catch (const std::exception&) {
    return false;  // no memory, or no thread
  }
  changed_.notify_one();
  has_left_ = true;
  wait_left_ = kWaitMax;
  return true;
}

void LazyFree::loop() {
  name_this_thread("rg-free");
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return !waiting_.empty() || !may_use_thread_; });
    if (waiting_.empty()) return;
    const Item item = waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    free_on_thread(item);
    lock.lock();
  }
}

void LazyFree::free_on_thread(const Item& item) {
  std::size_t left = item.bytes;  // not counted yet
  std::size_t portion = 0;
  item.destroy(item.value, [&](std::size_t bytes) {
    portion = std::min(portion + bytes, left);
    if (portion < kBytesPortion) return;
    count_freed(portion, 0);
    left -= std::exchange(portion, 0);
  });
  count_freed(left, item.objects);
}

void LazyFree::count_freed(std::size_t bytes, std::size_t objects) {
  {
    const std::lock_guard lock(mutex_);
    counts_.bytes_pending -= bytes;
    counts_.bytes_later += bytes;
    bytes_pending_ = counts_.bytes_pending;
    counts_.objects_pending -= objects;
    counts_.objects_later += objects;
  }
  freed_.notify_all();
}

bool LazyFree::wait_until_at_most(std::size_t bytes) {
  if (bytes_pending() <= bytes) return true;
  if (wait_left_ <= std::chrono::nanoseconds::zero()) return false;
  const auto begin = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  const bool are_freed =
      freed_.wait_for(lock, wait_left_, [&] { return counts_.bytes_pending <= bytes; });
  wait_left_ -= std::chrono::steady_clock::now() - begin;
  return are_freed;
}

LazyFree::Counts LazyFree::counts() const {
  const std::lock_guard lock(mutex_);
  Counts counts = counts_;
  counts.objects_at_once = objects_at_once_.load(std::memory_order_relaxed);
  counts.bytes_at_once = bytes_at_once_.load(std::memory_order_relaxed);
  return counts;
}

}  // namespace rushgate
