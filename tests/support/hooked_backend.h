// Backends that watch the requests to another one, or can do less than it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/time/timer_queue.h"
#include <rushgate/backend.h>
#include <rushgate/client.h>
#include <rushgate/testing_stores.h>

namespace rushgate {

using faults::ForwardingBackend;
using faults::ForwardingClient;

/// The functions that run with each request. Both run on the threads of the callers, `after` once
/// for each request of a call() or pipeline().
struct RequestHooks {
  std::function<void(const Request&)> before = {};
  std::function<void(const Request&, const Reply&)> after = {};
};

/// Returns hooks that run `happens` once: before the next request after one for which `is_it` returns true. For one
/// thread.
inline RequestHooks once_behind(std::function<bool(const Request&)> is_it,
                                std::function<void()> happens) {
  struct State {
    std::function<void()> happens;  // empty: it has run
    bool is_next = false;
  };
  const auto state =
      std::make_shared<State>(State{.happens = std::move(happens)});  // of all clients
  return {.before =
              [state](const Request&) {
                if (state->is_next && state->happens) std::exchange(state->happens, nullptr)();
              },
          .after = [state, is_it = std::move(is_it)](
                       const Request& request,
                       const Reply&) { state->is_next = state->is_next || is_it(request); }};
}

/// Calls hooks.
class HookedClient final : public ForwardingClient {
 public:
  HookedClient(std::unique_ptr<Client> client, RequestHooks hooks)
      : ForwardingClient(std::move(client)), hooks_(std::move(hooks)) {}

  void submit(Request request, Completion completion) override {
    before(request);
    ForwardingClient::submit(std::move(request), std::move(completion));
  }
  Reply call(Request request) override {
    before(request);
    if (!hooks_.after) return ForwardingClient::call(std::move(request));
    Reply reply = ForwardingClient::call(Request(request));
    hooks_.after(request, reply);
    return reply;
  }
  std::vector<Reply> pipeline(std::span<const Request> requests) override {
    for (const Request& request : requests) before(request);
    std::vector<Reply> replies = ForwardingClient::pipeline(requests);
    if (hooks_.after) {
      for (std::size_t i = 0; i < requests.size(); ++i) hooks_.after(requests[i], replies[i]);
    }
    return replies;
  }

 private:
  void before(const Request& request) const {
    if (hooks_.before) hooks_.before(request);
  }

  const RequestHooks hooks_;
};

/// Calls where others submit.
class OneThreadClient final : public ForwardingClient {
 public:
  using ForwardingClient::ForwardingClient;

  void submit(Request request, Completion completion) override {
    const Reply reply = call(std::move(request));
    if (completion) completion(reply);
  }
};

/// Its clients call hooks.
class HookedBackend final : public ForwardingBackend {
 public:
  HookedBackend(Backend& inner, RequestHooks hooks)
      : ForwardingBackend(inner), hooks_(std::move(hooks)) {}

  using Backend::open_client;
  [[nodiscard]] std::unique_ptr<Client> open_client(const ClientOptions& options) override {
    return std::make_unique<HookedClient>(ForwardingBackend::open_client(options), hooks_);
  }

 private:
  const RequestHooks hooks_;
};

/// Thrown in place of a process's death: nothing that it would send after that is sent.
struct Killed {};

/// Kills the caller with its nth request, before the keyspace has it or after.
class Death {
 public:
  Death(int nth, bool is_before) : left_(nth), is_before_(is_before) {}

  [[nodiscard]] RequestHooks hooks() {
    return {.before = [this](const Request&) { note(is_before_); },
            .after = [this](const Request&, const Reply&) { note(!is_before_); }};
  }
  [[nodiscard]] bool has_struck() const { return has_struck_; }

 private:
  void note(bool counts) {
    if (!has_struck_ && counts) has_struck_ = --left_ == 0;
    if (has_struck_) throw Killed();
  }

  int left_;
  const bool is_before_;
  bool has_struck_ = false;
};

/// Goes by another clock. Does not own it.
class BackendWithClock final : public ForwardingBackend {
 public:
  BackendWithClock(Backend& inner, const Clock& clock) : ForwardingBackend(inner), clock_(clock) {}

  [[nodiscard]] const Clock& clock() const override { return clock_; }

 private:
  const Clock& clock_;
};

/// Runs timers when it is told to.
class ManualScheduler final : public Scheduler {
 public:
  TimerId at(std::int64_t monotonic_ms, Callback callback) override {
    return timers_.add(monotonic_ms, std::move(callback));
  }
  bool cancel(TimerId timer) override { return timers_.remove(timer); }
  /// Runs the timers that are due at this time; not those that they add.
  void run_due(std::int64_t monotonic_ms) {
    std::vector<Callback> due;
    while (auto callback = timers_.take_due(monotonic_ms)) due.push_back(*std::move(callback));
    for (Callback& callback : due) callback();
  }

 private:
  TimerQueue timers_;
};

/// A server as the embedded engine is in manual mode: it goes by another clock, and a completion
/// runs before submit() returns. Does not own the clock.
class OneThreadBackend final : public ForwardingBackend {
 public:
  OneThreadBackend(Backend& inner, const Clock& clock) : ForwardingBackend(inner), clock_(clock) {}

  [[nodiscard]] Scheduler& scheduler() override { return scheduler_; }
  /// Runs the timers that are due by the clock.
  void run_timers() { scheduler_.run_due(clock_.monotonic_ms()); }

  using Backend::open_client;
  [[nodiscard]] std::unique_ptr<Client> open_client(const ClientOptions& options) override {
    return std::make_unique<OneThreadClient>(ForwardingBackend::open_client(options));
  }
  [[nodiscard]] const Clock& clock() const override { return clock_; }
  [[nodiscard]] Capabilities capabilities() const override {
    Capabilities capabilities = ForwardingBackend::capabilities();
    capabilities.has_callback_thread = false;
    return capabilities;
  }

 private:
  const Clock& clock_;
  ManualScheduler scheduler_;
};

/// Runs no native scripts.
class LuaOnlyBackend final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;

  [[nodiscard]] Capabilities capabilities() const override {
    Capabilities capabilities = ForwardingBackend::capabilities();
    capabilities.runs_native_scripts = false;
    return capabilities;
  }
  void add_native_scripts(std::span<const NamedScript> /*scripts*/) override {}
};

}  // namespace rushgate
