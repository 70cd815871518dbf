// Requests that are decided in batches: those that arrive while a batch is decided are the next one.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "engine/core/base/thread_name.h"

namespace rushgate::http {

/// Thread-safe.
template <class Request, class Result>
class Batcher {
 public:
  /// Decides on requests, in this order. Must not throw.
  using Decide = std::function<std::vector<Result>(std::span<const Request> requests)>;
  using Completion = absl::AnyInvocable<void(const Result& result)>;

  Batcher(int threads, std::size_t waiting_max, Decide decide)
      : waiting_max_(waiting_max), decide_(std::move(decide)) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { loop(); });
  }
  /// Decides all waiting requests first.
  ~Batcher() {
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    has_requests_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  /// Calls `completion` with the result on a thread of its own. Returns false, and drops both, if too
  /// many requests wait.
  [[nodiscard]] bool submit(Request request, Completion completion) {
    bool is_first = false;
    {
      const std::lock_guard lock(mutex_);
      if (requests_.size() >= waiting_max_) return false;
      is_first = requests_.empty();
      requests_.push_back(std::move(request));
      completions_.push_back(std::move(completion));
    }
    if (is_first) has_requests_.notify_one();
    return true;
  }
  /// Returns how many requests wait.
  [[nodiscard]] std::size_t waiting() {
    const std::lock_guard lock(mutex_);
    return requests_.size();
  }

 private:
  static constexpr std::size_t kBatchMax = 1'024;

  template <class T>
  static std::vector<T> take_front(std::vector<T>& from) {
    if (from.size() <= kBatchMax) return std::exchange(from, {});
    const auto end = from.begin() + kBatchMax;
    std::vector<T> taken(std::make_move_iterator(from.begin()), std::make_move_iterator(end));
    from.erase(from.begin(), end);
    return taken;
  }

  void loop() {
    name_this_thread("rg-http-batch");
    std::unique_lock lock(mutex_);
    while (true) {
      has_requests_.wait(lock, [this] { return is_stopping_ || !requests_.empty(); });
      if (requests_.empty()) return;
      const std::vector<Request> requests = take_front(requests_);
      std::vector<Completion> completions = take_front(completions_);
      if (!requests_.empty()) has_requests_.notify_one();
      lock.unlock();
      const std::vector<Result> results = decide_(requests);
      for (std::size_t i = 0; i < completions.size(); ++i) completions[i](results[i]);
      completions.clear();
      lock.lock();
    }
  }

  const std::size_t waiting_max_;
  const Decide decide_;
  std::mutex mutex_;  // guards the next three members
  std::vector<Request> requests_;
  std::vector<Completion> completions_;  // of requests_
  bool is_stopping_ = false;
  std::condition_variable has_requests_;
  std::vector<std::thread> threads_;
};

}  // namespace rushgate::http
