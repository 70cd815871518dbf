// Parts that the tests of locks share.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "engine/recipes/locks/reentrant_lock.h"
#include "tests/forwarding_backend.h"
#include "tests/recipes/recipe_fixture.h"

namespace rushgate {

/// A wait that was begun by acquire_async().
class PendingLock {
 public:
  PendingLock() : state_(std::make_shared<State>()) {}

  [[nodiscard]] ReentrantLock::Callback callback() {
    return [state = state_](absl::StatusOr<bool> acquired) {
      state->promise.set_value(std::move(acquired));
    };
  }
  [[nodiscard]] bool is_done() const {
    return state_->future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  /// On a Redis: waits for it.
  [[nodiscard]] absl::StatusOr<bool> result() const { return state_->future.get(); }

 private:
  struct State {
    std::promise<absl::StatusOr<bool>> promise;
    std::shared_future<absl::StatusOr<bool>> future{promise.get_future()};
  };
  std::shared_ptr<State> state_;
};

inline PendingLock begin(ReentrantLock lock, std::uint64_t owner,
                         std::int64_t wait_ms = ReentrantLock::kForever,
                         std::int64_t lease_ms = ReentrantLock::kWatchdog) {
  PendingLock pending;
  lock.acquire_async(owner, wait_ms, lease_ms, pending.callback());
  return pending;
}

/// Its clients lose replies, or requests, that a test chooses.
class LossyBackend final : public ForwardingBackend {
 public:
  enum class Loss : std::uint8_t { kNone, kRequest, kReply };
  using Choose = std::function<Loss(const Request&)>;

  LossyBackend(Backend& inner, Choose choose)
      : ForwardingBackend(inner), choose_(std::make_shared<Choose>(std::move(choose))) {}

  using Backend::open_client;
  [[nodiscard]] std::unique_ptr<Client> open_client(const ClientOptions& options) override {
    return std::make_unique<LossyClient>(ForwardingBackend::open_client(options), choose_);
  }

 private:
  class LossyClient final : public ForwardingClient {
   public:
    LossyClient(std::unique_ptr<Client> client, std::shared_ptr<Choose> choose)
        : ForwardingClient(std::move(client)), choose_(std::move(choose)) {}

    void submit(Request request, Completion completion) override {
      const Loss loss = (*choose_)(request);
      if (loss == Loss::kRequest) return completion(closed());
      ForwardingClient::submit(std::move(request),
                               [loss, completion = std::move(completion)](Reply reply) mutable {
                                 completion(loss == Loss::kReply ? unknown() : std::move(reply));
                               });
    }
    Reply call(Request request) override {
      const Loss loss = (*choose_)(request);
      if (loss == Loss::kRequest) return closed();
      Reply reply = ForwardingClient::call(std::move(request));
      return loss == Loss::kReply ? unknown() : reply;
    }

   private:
    static Reply closed() { return Reply::error("CLOSED by the test"); }
    static Reply unknown() { return Reply::error("OUTCOMEUNKNOWN by the test"); }

    const std::shared_ptr<Choose> choose_;
  };

  const std::shared_ptr<Choose> choose_;
};

}  // namespace rushgate
