#include "engine/recipes/cache/cache_wait.h"

#include <algorithm>
#include <utility>

#include "engine/core/base/concat.h"

namespace rushgate {

CacheWait::CacheWait(std::shared_ptr<CacheCore> core, CacheCore::Names names,
                     std::int64_t deadline_ms, CacheCore::Attempted done)
    : core_(std::move(core)),
      names_(std::move(names)),
      deadline_ms_(deadline_ms),
      done_(std::move(done)) {}

void CacheWait::start() {
  set_timer(deadline_timer_, deadline_ms_, &CacheWait::deadline_passed);
  core_->channels().add(names_.channel, shared_from_this(), /*is_for_all=*/true);
  bool is_done = false;  // by a concurrent close(), which found nothing to remove
  {
    const std::lock_guard lock(mutex_);
    is_done = is_done_;
  }
  if (is_done) core_->channels().remove(names_.channel, shared_from_this());
}

void CacheWait::set_timer(Timer& timer, std::int64_t due_ms, void (CacheWait::*run)()) {
  const std::lock_guard lock(mutex_);
  if (is_done_) return;
  if (timer) core_->scheduler().cancel(*timer);
  timer = core_->scheduler().at(due_ms, [weak = weak_from_this(), run] {
    if (const std::shared_ptr<CacheWait> self = weak.lock()) (self.get()->*run)();
  });
}

void CacheWait::subscribed(const absl::Status& status) {
  if (!status.ok()) {
    finish(status);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    is_subscribed_ = true;
  }
  attempt();
}

void CacheWait::attempt() {
  core_->attempt_async(
      names_, [self = shared_from_this()](auto tried) { self->attempted(std::move(tried)); });
}

void CacheWait::attempted(absl::StatusOr<CacheCore::Attempt> attempted) {
  using Kind = CacheCore::Attempt::Kind;
  const std::int64_t now_ms = core_->clock().monotonic_ms();
  if (!attempted.ok() || attempted->kind != Kind::kWait) {
    const bool is_ours = attempted.ok() && attempted->kind != Kind::kValue;
    if (!finish(std::move(attempted)) && is_ours) core_->abandon(names_);
    return;
  }
  if (now_ms >= deadline_ms_) {
    finish(too_late());
    return;
  }
  if (!core_->channels().pause(names_.channel, shared_from_this())) return attempt();
  if (attempted->lease_left_ms < 0) return;
  // No message comes when a lease ends by itself.
  set_timer(pause_timer_, now_ms + std::max<std::int64_t>(attempted->lease_left_ms, 1),
            &CacheWait::pause_ended);
}

void CacheWait::pause_ended() {
  if (core_->channels().end_pause(names_.channel, shared_from_this())) attempt();
}

/// Makes the last attempt of a wait that has subscribed.
void CacheWait::deadline_passed() {
  bool is_subscribed = false;
  {
    const std::lock_guard lock(mutex_);
    is_subscribed = is_subscribed_;
  }
  if (is_subscribed) return pause_ended();
  finish(too_late());
}

absl::Status CacheWait::too_late() const {
  return absl::DeadlineExceededError(concat(names_.value,
                                            " is loaded by another caller, which took longer than ",
                                            core_->options().wait_ms, " ms"));
}

bool CacheWait::finish(absl::StatusOr<CacheCore::Attempt> result) {
  CacheCore::Attempted done;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_done_, true)) return false;
    for (Timer* const timer : {&deadline_timer_, &pause_timer_}) {
      if (*timer) core_->scheduler().cancel(**timer);
    }
    done = std::move(done_);
  }
  const std::shared_ptr<CacheWait> self = shared_from_this();
  core_->channels().remove(names_.channel, self);
  core_->remove(self);
  done(std::move(result));
  return true;
}

}  // namespace rushgate
