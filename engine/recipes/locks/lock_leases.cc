#include "engine/recipes/locks/lock_leases.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "engine/core/client/redis_error_code.h"
#include "engine/recipes/locks/client_identity.h"
#include "engine/recipes/locks/lock_names.h"
#include "engine/recipes/locks/lock_scripts.h"

namespace rushgate {
namespace {

constexpr std::int64_t kRenewalsPerLease = 3;
constexpr std::int64_t kRetriesPerLease = 10;  // of a renewal that fails

}  // namespace

LockLeases::LockLeases(Backend& backend, std::shared_ptr<Client> client,
                       const LockManagerOptions& options, Lost on_lost)
    : clock_(backend.clock()),
      scheduler_(backend.scheduler()),
      client_(std::move(client)),
      client_id_(options.client_id),
      watchdog_lease_ms_(options.watchdog_lease_ms),
      on_lost_(std::move(on_lost)) {}

void LockLeases::add(const LockHold& hold, std::int64_t sent_at_ms, std::int64_t lease_ms,
                     bool is_renewed, std::int64_t token) {
  const std::lock_guard lock(mutex_);
  if (is_closed_) return;
  Lease& lease = leases_[hold];
  ++lease.holds;
  lease.token = token;
  lease.lease_ms = lease_ms;
  lease.is_renewed = lease.is_renewed || is_renewed;
  begin(hold, lease, sent_at_ms, sent_at_ms + lease_ms);
}

/// Notes that a request that was sent at `sent_at_ms` made the lease end at `ends_at_ms`.
void LockLeases::begin(const LockHold& hold, Lease& lease, std::int64_t sent_at_ms,
                       std::int64_t ends_at_ms) {
  std::int64_t certain_ms = ends_at_ms - sent_at_ms;
  if (hold.kind == LockKind::kRead) certain_ms = std::min(certain_ms, watchdog_lease_ms_);
  lease.ends_at_ms = ends_at_ms;
  lease.certain_until_ms = sent_at_ms + certain_ms;
  set_timer(hold, lease,
            lease.is_set_again() ? sent_at_ms + certain_ms / kRenewalsPerLease : ends_at_ms);
}

std::optional<std::int64_t> LockLeases::begin_release(const LockHold& hold) {
  const std::lock_guard lock(mutex_);
  const auto found = leases_.find(hold);
  if (found == leases_.end()) return std::nullopt;
  if (found->second.holds == 1) cancel_timer(found->second);
  return found->second.lease_ms;
}

bool LockLeases::end_release(const LockHold& hold, bool is_held) {
  const std::lock_guard lock(mutex_);
  const auto found = leases_.find(hold);
  if (found == leases_.end()) return !is_held;
  if (is_held && --found->second.holds > 0) return true;
  cancel_timer(found->second);
  leases_.erase(found);
  return !is_held;
}

bool LockLeases::is_held(const LockHold& hold) const {
  const std::lock_guard lock(mutex_);
  const auto found = leases_.find(hold);
  return found != leases_.end() && clock_.monotonic_ms() < found->second.certain_until_ms;
}

std::int64_t LockLeases::token(const LockHold& hold) const {
  const std::lock_guard lock(mutex_);
  const auto found = leases_.find(hold);
  return found == leases_.end() ? 0 : found->second.token;
}

void LockLeases::set_lease(const LockHold& hold, std::int64_t sent_at_ms, std::int64_t lease_ms) {
  const std::lock_guard lock(mutex_);
  const auto found = leases_.find(hold);
  if (found == leases_.end()) return;
  Lease& lease = found->second;
  lease.lease_ms = lease_ms;
  lease.is_renewed = false;
  begin(hold, lease, sent_at_ms, sent_at_ms + lease_ms);
}

void LockLeases::lease_may_be(const LockHold& hold, std::int64_t sent_at_ms,
                              std::int64_t lease_ms) {
  const std::lock_guard lock(mutex_);
  const auto found = leases_.find(hold);
  if (found == leases_.end() || sent_at_ms + lease_ms >= found->second.ends_at_ms) return;
  Lease& lease = found->second;
  const std::int64_t certain_until_ms = lease.certain_until_ms;
  begin(hold, lease, sent_at_ms, sent_at_ms + lease_ms);
  lease.certain_until_ms = std::min(lease.certain_until_ms, certain_until_ms);
}

void LockLeases::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  for (auto& [hold, lease] : leases_) cancel_timer(lease);
  leases_.clear();
}

// ---- Timers ----

void LockLeases::set_timer(const LockHold& hold, Lease& lease, std::int64_t due_ms) {
  cancel_timer(lease);
  lease.generation = ++generations_;
  lease.timer =
      scheduler_.at(due_ms, [weak = weak_from_this(), hold, generation = lease.generation] {
        if (const std::shared_ptr<LockLeases> self = weak.lock()) self->fire(hold, generation);
      });
}

/// Cancels the timer. One that already runs finds another generation.
void LockLeases::cancel_timer(Lease& lease) {
  lease.generation = ++generations_;
  if (lease.timer) scheduler_.cancel(*std::exchange(lease.timer, std::nullopt));
}

LockLeases::Lease* LockLeases::find(const LockHold& hold, std::uint64_t generation) {
  const auto found = leases_.find(hold);
  return found != leases_.end() && found->second.generation == generation ? &found->second
                                                                          : nullptr;
}

void LockLeases::fire(const LockHold& hold, std::uint64_t generation) {
  const std::int64_t now_ms = clock_.monotonic_ms();
  std::string lease_ms;
  {
    const std::lock_guard lock(mutex_);
    Lease* const lease = find(hold, generation);
    if (lease == nullptr) return;
    lease->timer.reset();
    if (lease->is_set_again() && now_ms < lease->ends_at_ms) {
      lease_ms = std::to_string(lease->is_renewed ? lease->lease_ms : lease->ends_at_ms - now_ms);
    } else {
      leases_.erase(hold);
    }
  }
  if (lease_ms.empty()) return on_lost_(hold);
  const std::vector<std::string> names = keys_of(hold.kind, hold.name);
  const std::vector<std::string_view> keys(names.begin(), names.end());
  const std::string owner = owner_name(client_id_, hold.owner);
  const std::array<std::string_view, 2> arguments = {lease_ms, owner};
  const Script& script = scripts_of(hold.kind).renew;
  client_->submit(make_script_request("EVAL", script.text(), keys, arguments),
                  [weak = weak_from_this(), hold, generation, now_ms](const Reply& reply) {
                    const std::shared_ptr<LockLeases> self = weak.lock();
                    if (self) self->renewed(hold, generation, now_ms, reply);
                  });
}

void LockLeases::renewed(const LockHold& hold, std::uint64_t generation, std::int64_t sent_at_ms,
                         const Reply& reply) {
  {
    const std::lock_guard lock(mutex_);
    Lease* const lease = find(hold, generation);
    if (lease == nullptr) return;
    if (!reply.is_integer()) {
      const std::int64_t retry_ms = std::max<std::int64_t>(
          std::min(lease->lease_ms, watchdog_lease_ms_) / kRetriesPerLease, 1);
      return set_timer(hold, *lease, std::min(clock_.monotonic_ms() + retry_ms, lease->ends_at_ms));
    }
    if (reply.integer() != 0) {
      return begin(hold, *lease, sent_at_ms,
                   lease->is_renewed ? sent_at_ms + lease->lease_ms : lease->ends_at_ms);
    }
    leases_.erase(hold);
  }
  on_lost_(hold);
}

}  // namespace rushgate
