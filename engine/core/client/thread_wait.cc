#include "engine/core/client/thread_wait.h"

#include <atomic>
#include <cstdint>

#include "engine/core/base/futex.h"
#include "engine/core/client/caller_number.h"

namespace rushgate {
namespace {

/// std::atomic::wait() yields several times before it sleeps. A reply takes longer, so the yields
/// only cause context switches. A futex sleeps at once.
class ThreadEvent final : public WaitMethod::Event {
 public:
  void happen() override {
    std::atomic<std::uint32_t>* const state = &state_;
    if (state->exchange(kHappened, std::memory_order_acq_rel) == kAwaited) futex_wake(state);
  }
  void wait() {
    std::uint32_t expected = kPending;
    if (!state_.compare_exchange_strong(expected, kAwaited)) return;
    while (state_.load(std::memory_order_acquire) != kHappened) futex_wait(state_, kAwaited, -1);
  }

 private:
  enum : std::uint32_t { kPending, kAwaited, kHappened };

  std::atomic<std::uint32_t> state_{kPending};
};

class ThreadWait final : public WaitMethod {
 public:
  void wait(absl::FunctionRef<void(Event&)> begin) const override {
    ThreadEvent event;
    begin(event);
    event.wait();
  }
  [[nodiscard]] std::uint64_t caller_number() const override { return thread_number(); }
};

}  // namespace

const WaitMethod& thread_wait() {
  static const ThreadWait kMethod;
  return kMethod;
}

const WaitMethod& wait_method(const WaitMethod* chosen) {
  return chosen != nullptr ? *chosen : thread_wait();
}

}  // namespace rushgate
