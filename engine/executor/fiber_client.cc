#include "engine/executor/fiber_client.h"

#include <mutex>
#include <utility>

#include <boost/fiber/condition_variable.hpp>
#include <boost/fiber/mutex.hpp>

#include "engine/executor/embedded_client.h"
#include "engine/executor/executor.h"

namespace rushgate {
namespace {

/// Wakes the fiber that waits for it. Lives on the fiber's stack.
class FiberEvent {
 public:
  void happen() {
    const std::lock_guard lock(
        mutex_);  // held while notifying: the waiter may be gone right after it is released
    has_happened_ = true;
    happened_.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    happened_.wait(lock, [this] { return has_happened_; });
  }

 private:
  boost::fibers::mutex mutex_;
  boost::fibers::condition_variable happened_;
  bool has_happened_ = false;  // guarded by mutex_
};

}  // namespace

FiberClient::FiberClient(Engine& engine, const ClientOptions& options)
    : executor_(engine.executor_), client_(std::make_unique<EmbeddedClient>(executor_, options)) {}

FiberClient::~FiberClient() = default;

bool FiberClient::cannot_park() const {
  // The completion that would wake the fiber waits for the end of the callback or of the turn.
  return executor_->service().inside_callback() || executor_->inside_turn();
}

void FiberClient::submit(Request request, Completion completion) {
  client_->submit(std::move(request), std::move(completion));
}

Reply FiberClient::call(Request request) {
  if (cannot_park()) return client_->call(std::move(request));
  return std::move(pipeline({&request, 1}).front());
}

std::vector<Reply> FiberClient::pipeline(std::span<const Request> requests) {
  if (requests.empty()) return {};
  if (cannot_park()) return client_->pipeline(requests);
  std::vector<Reply> answers;
  FiberEvent answered;
  client_->submit_all(requests, [&](std::vector<Reply> replies) {
    answers = std::move(replies);
    answered.happen();
  });
  answered.wait();
  return answers;
}

void FiberClient::unblock() { client_->unblock(); }

Reply FiberClient::sync() { return client_->sync(); }

void FiberClient::add_native_scripts(std::span<const NamedScript> scripts) {
  client_->add_native_scripts(scripts);
}

Request FiberClient::script_request(const Script& script, std::span<const std::string_view> keys,
                                    std::span<const std::string_view> arguments) const {
  return client_->script_request(script, keys, arguments);
}

}  // namespace rushgate
