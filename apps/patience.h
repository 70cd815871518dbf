// Repeats calls that fail while a Redis is away, is loading its data, or is being rebuilt.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/sale.h>

namespace rushgate {

/// How often the program tries again. The wait doubles each time, up to a maximum. One rule for
/// every command and phase: about 13 s. An abandoned rebuild on a Redis is taken over sooner
/// (VoucherBook::kRebuildAbandonedMs).
struct Patience {
  int attempts_max = 21;
  std::int64_t retry_after_ms = 5;
  std::int64_t retry_after_ms_max = 1'000;

  static constexpr std::int64_t kSeconds = 13;

  /// Returns the patience whose waits take at least `seconds`; with 0, a single attempt.
  static Patience of_seconds(std::int64_t seconds);
  static Patience none() { return of_seconds(0); }

  /// Returns the wait after the failed attempt number `attempt`, from 1.
  [[nodiscard]] std::int64_t wait_after_ms(int attempt) const;
  /// Returns the sum of all waits.
  [[nodiscard]] std::int64_t total_ms() const;
  /// Waits after a failed attempt; prints `reason` to stderr after the first. Returns false if it
  /// was the last one, or a signal was noted (note_interrupts()).
  [[nodiscard]] bool waits_after(int attempt, std::string_view reason) const;
};

// ---- Failures that may pass: the same call may succeed later ----

bool may_pass(Outcome outcome);
bool may_pass(ChangeOutcome outcome);
inline bool may_pass(const BuyResult& result) { return may_pass(result.outcome); }
inline bool may_pass(const ChangeResult& result) { return may_pass(result.outcome); }
inline bool may_pass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status);
}
template <class T>
bool may_pass(const absl::StatusOr<T>& result) {
  return may_pass(result.status());
}

/// Returns true if the outcome says nothing about the decision: the request has no reply yet.
inline bool is_undecided(Outcome outcome) {
  return may_pass(outcome) || outcome == Outcome::kFailed;
}
inline bool is_undecided(ChangeOutcome outcome) {
  return may_pass(outcome) || outcome == ChangeOutcome::kFailed;
}

inline std::string reason_of(const BuyResult& result) { return result.detail; }
inline std::string reason_of(const ChangeResult& result) { return result.detail; }
inline std::string reason_of(const absl::Status& status) { return std::string(status.message()); }
template <class T>
std::string reason_of(const absl::StatusOr<T>& result) {
  return reason_of(result.status());
}

/// Returns the result of `call()`, which is repeated while its failure may pass.
template <class Call>
auto patiently(const Patience& patience, Call call) {
  for (int attempt = 1;; ++attempt) {
    auto result = call();
    if (!may_pass(result) || !patience.waits_after(attempt, reason_of(result))) return result;
  }
}

}  // namespace rushgate
