#include "engine/redis/executor/due_work.h"

#include <algorithm>
#include <cstddef>

#include "engine/redis/executor/guarded_part.h"

namespace rushgate {
namespace {

constexpr std::int64_t kRecheckMs = 1'000;

}  // namespace

void DueWork::end_pause() {
  if (services_.pause.is_over(services_.keyspace.now_ms())) unblocker_.end_pause();
}

void DueWork::remove_expired() {
  constexpr std::size_t kKeysPerBatchMax = 128;
  const bool keeps_expired = services_.pause.is_active() || !services_.settings.removes_expired;
  if (!services_.write_refusal.empty() || keeps_expired) return;
  Keyspace& keyspace = services_.keyspace;
  lacks_memory_ =
      run_guarded(keyspace, [&] { keyspace.remove_expired(kKeysPerBatchMax); }).has_value();
}

void DueWork::serve_blocked() {
  // Retries write. They precede timeouts, so that a client gets the entries of its last moment.
  if (!services_.pause.is_active()) unblocker_.retry_due(services_.keyspace.now_ms());
  unblocker_.time_out(clock_.monotonic_ms());
  unblocker_.serve_signalled();
}

std::int64_t DueWork::check_ms(std::int64_t at_ms) const {
  // Expiry follows the time of day, sleep the monotonic clock. One check a second covers changes
  // of the time of day.
  const std::int64_t left_ms = std::max<std::int64_t>(0, at_ms - services_.keyspace.now_ms());
  return clock_.monotonic_ms() + (is_manual_ ? left_ms : std::min(left_ms, kRecheckMs));
}

std::int64_t DueWork::next_removal_ms() const {
  const auto expiry_ms = services_.keyspace.next_expiry_ms();
  if (!expiry_ms || !services_.write_refusal.empty() || services_.pause.is_active())
    return ServiceThread::kNever;
  const bool waits = lacks_memory_ || !services_.settings.removes_expired;
  return waits ? clock_.monotonic_ms() + kRecheckMs : check_ms(*expiry_ms);
}

std::int64_t DueWork::next_retry_ms() const {
  const std::int64_t retry_ms = unblocker_.next_retry_ms();
  const bool is_planned = retry_ms != BlockedOperations::kNever && !services_.pause.is_active();
  return is_planned ? check_ms(retry_ms) : ServiceThread::kNever;
}

std::int64_t DueWork::end_of_pause_ms() const {
  return services_.pause.is_active() ? check_ms(services_.pause.end_ms()) : ServiceThread::kNever;
}

void DueWork::plan_next() {
  const std::int64_t due_ms =
      std::min({unblocker_.next_timeout_ms().value_or(ServiceThread::kNever), next_removal_ms(),
                next_retry_ms(), end_of_pause_ms()});
  const std::int64_t previous_ms = next_ms();
  next_ms_.store(due_ms, std::memory_order_relaxed);
  if (due_ms < previous_ms && !is_manual_) service_.wake_by(due_ms);
}

}  // namespace rushgate
