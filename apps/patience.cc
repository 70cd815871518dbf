#include "apps/patience.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "apps/say.h"
#include "apps/signals.h"

namespace rushgate {

Patience Patience::of_seconds(std::int64_t seconds) {
  constexpr std::int64_t kMsPerSecond = 1'000;
  Patience patience;
  patience.attempts_max = 1;
  for (std::int64_t sum_ms = 0; sum_ms < seconds * kMsPerSecond;) {
    sum_ms += patience.wait_after_ms(patience.attempts_max++);
  }
  return patience;
}

std::int64_t Patience::wait_after_ms(int attempt) const {
  std::int64_t wait_ms = retry_after_ms;
  for (int i = 1; i < attempt && wait_ms < retry_after_ms_max; ++i) wait_ms *= 2;
  return std::min(wait_ms, retry_after_ms_max);
}

std::int64_t Patience::total_ms() const {
  std::int64_t sum_ms = 0;
  for (int attempt = 1; attempt < attempts_max; ++attempt) sum_ms += wait_after_ms(attempt);
  return sum_ms;
}

bool Patience::waits_after(int attempt, std::string_view reason) const {
  if (attempt >= attempts_max || interrupt_signal() != 0) return false;
  if (attempt == 1) say("waiting: {}\n", reason);
  std::this_thread::sleep_for(std::chrono::milliseconds(wait_after_ms(attempt)));
  return interrupt_signal() == 0;
}

bool may_pass(Outcome outcome) {
  return outcome == Outcome::kOverloaded || outcome == Outcome::kUnavailable ||
         outcome == Outcome::kOutcomeUnknown;
}

bool may_pass(ChangeOutcome outcome) {
  return outcome == ChangeOutcome::kOverloaded || outcome == ChangeOutcome::kUnavailable ||
         outcome == ChangeOutcome::kOutcomeUnknown;
}

}  // namespace rushgate
