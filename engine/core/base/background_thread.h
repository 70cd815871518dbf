// A thread that runs tasks one after another. It starts with the first task.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "absl/functional/any_invocable.h"
#include "engine/core/base/thread_name.h"

namespace rushgate {

/// Thread-safe. Its user bounds the number of tasks, which must not throw.
class BackgroundThread {
 public:
  using Task = absl::AnyInvocable<void()>;

  explicit BackgroundThread(ThreadName name) : name_(name) {}
  /// Blocks until all queued tasks have run.
  ~BackgroundThread();
  BackgroundThread(const BackgroundThread&) = delete;
  BackgroundThread& operator=(const BackgroundThread&) = delete;

  /// Throws, and does nothing, if the system has no thread (std::system_error) or no memory to spare.
  void run(Task task);

 private:
  void serve();

  const ThreadName name_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  std::deque<Task> tasks_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace rushgate
