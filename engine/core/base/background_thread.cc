#include "engine/core/base/background_thread.h"

#include <utility>

namespace rushgate {

BackgroundThread::~BackgroundThread() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void BackgroundThread::run(Task task) {
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { serve(); });
  tasks_.push_back(std::move(task));
  changed_.notify_one();
}

void BackgroundThread::serve() {
  name_this_thread(name_);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_ending_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = {};
    lock.lock();
  }
}

}  // namespace rushgate
