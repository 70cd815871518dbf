#include "engine/executor/due_work.h"

#include <algorithm>
#include <cstddef>

#include "engine/executor/guarded_part.h"

namespace rushgate {

void DueWork::remove_expired() {
  constexpr std::size_t kKeysPerBatchMax = 128;
  if (!services_.write_refusal.empty() || !services_.settings.removes_expired) return;
  Keyspace& keyspace = services_.keyspace;
  lacks_memory_ =
      run_guarded(keyspace, [&] { keyspace.remove_expired(kKeysPerBatchMax); }).has_value();
}

void DueWork::time_out_blocked() {
  unblocker_.time_out(clock_.monotonic_ms());
  unblocker_.serve_signalled();
}

std::int64_t DueWork::next_removal_ms() const {
  const auto expiry_ms = services_.keyspace.next_expiry_ms();
  if (!expiry_ms || !services_.write_refusal.empty()) return ServiceThread::kNever;
  // Expiry follows the time of day, sleep the monotonic clock. One check a second covers changes
  // of the time of day.
  constexpr std::int64_t kRecheckMs = 1'000;
  const std::int64_t left_ms = std::max<std::int64_t>(0, *expiry_ms - services_.keyspace.now_ms());
  const std::int64_t wanted_ms = is_manual_ ? left_ms : std::min(left_ms, kRecheckMs);
  const bool waits = lacks_memory_ || !services_.settings.removes_expired;
  return clock_.monotonic_ms() + (waits ? kRecheckMs : wanted_ms);
}

void DueWork::plan_next() {
  const std::int64_t due_ms =
      std::min(unblocker_.next_timeout_ms().value_or(ServiceThread::kNever), next_removal_ms());
  const std::int64_t previous_ms = next_ms();
  next_ms_.store(due_ms, std::memory_order_relaxed);
  if (due_ms < previous_ms && !is_manual_) service_.wake_by(due_ms);
}

}  // namespace rushgate
