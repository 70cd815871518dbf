#include "engine/executor/fiber_client.h"

#include <cstddef>
#include <mutex>
#include <utility>

#include <boost/fiber/condition_variable.hpp>
#include <boost/fiber/mutex.hpp>

#include "engine/executor/executor.h"

namespace rushgate {
namespace {

/// Counts down as answers come in, and wakes the fiber when all are there. Lives on the fiber's
/// stack.
class FiberLatch {
 public:
  explicit FiberLatch(std::size_t count) : left_(count) {}

  void count_down() {
    const std::lock_guard lock(
        mutex_);  // held while notifying: the waiter may be gone right after it is released
    if (--left_ == 0) all_there_.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    all_there_.wait(lock, [this] { return left_ == 0; });
  }

 private:
  boost::fibers::mutex mutex_;
  boost::fibers::condition_variable all_there_;
  std::size_t left_;  // guarded by mutex_
};

}  // namespace

FiberClient::FiberClient(Engine& engine, const ClientOptions& options)
    : executor_(engine.executor_), client_(engine.open_client(options)) {}

void FiberClient::submit(Request request, Completion completion) {
  client_->submit(std::move(request), std::move(completion));
}

Reply FiberClient::call(Request request) {
  // The completion that would wake this fiber waits for the callback that it is in.
  if (executor_->service().inside_callback()) return client_->call(std::move(request));
  Reply answer;
  FiberLatch latch(1);
  client_->submit(std::move(request), [&](Reply reply) {
    answer = std::move(reply);
    latch.count_down();
  });
  latch.wait();
  return answer;
}

std::vector<Reply> FiberClient::pipeline(std::span<const Request> requests) {
  if (requests.empty()) return {};
  if (executor_->service().inside_callback()) return client_->pipeline(requests);
  std::vector<Reply> answers(requests.size());
  FiberLatch latch(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    client_->submit(requests[i], [&answers, &latch, i](Reply reply) {
      answers[i] = std::move(reply);
      latch.count_down();
    });
  }
  latch.wait();
  return answers;
}

Reply FiberClient::sync() { return client_->sync(); }

Request FiberClient::script_request(const Script& script, std::span<const std::string_view> keys,
                                    std::span<const std::string_view> arguments) const {
  return client_->script_request(script, keys, arguments);
}

}  // namespace rushgate
