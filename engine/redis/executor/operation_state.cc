#include "engine/redis/executor/operation_state.h"

#include <thread>

namespace rushgate {
namespace {

constexpr int kSpins = 200;
constexpr int kYields = 20;

bool ends_wait(std::uint32_t value) {
  return value == OperationState::kReplied || value == OperationState::kHasTurn;
}

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

bool OperationState::begin() {
  std::uint32_t value = value_.load(std::memory_order_acquire);
  while (value != kAbandoned &&
         !value_.compare_exchange_weak(value, kRunning, std::memory_order_acq_rel)) {
  }
  if (value == kSleeping) futex_wake(&value_);  // the submitter sleeps on another value now
  return value != kAbandoned;
}

bool OperationState::abandon() {
  std::uint32_t value = value_.load(std::memory_order_acquire);
  while (value == kQueued || value == kSleeping) {
    if (value_.compare_exchange_weak(value, kAbandoned)) return true;
  }
  return false;
}

bool OperationState::spin(Value& value) const {
  for (int i = 0; i < kSpins + kYields; ++i) {
    value = Value{value_.load(std::memory_order_acquire)};
    if (ends_wait(value)) return true;
    if (i < kSpins) {
      pause_briefly();
    } else {
      std::this_thread::yield();
    }
  }
  return false;
}

OperationState::Value OperationState::wait(const Clock& clock, std::int64_t deadline_ms) {
  if (Value value{}; spin(value)) return value;
  while (true) {
    std::uint32_t value = value_.load(std::memory_order_acquire);
    if (ends_wait(value)) return Value{value};
    std::int64_t sleep_ms = -1;
    if (deadline_ms != 0 && value != kRunning) {
      sleep_ms = deadline_ms - clock.monotonic_ms();
      if (sleep_ms <= 0) {
        if (abandon()) return kAbandoned;
        continue;
      }
    }
    if (value == kQueued) {
      if (!value_.compare_exchange_strong(value, kSleeping)) continue;
      value = kSleeping;
    }
    futex_wait(value_, value, sleep_ms);
  }
}

}  // namespace rushgate
