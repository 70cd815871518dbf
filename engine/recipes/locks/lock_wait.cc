#include "engine/recipes/locks/lock_wait.h"

#include <algorithm>
#include <utility>

namespace rushgate {
namespace {

constexpr std::int64_t kRetryMs = 1'000;  // after an error that may pass
constexpr std::int64_t kAttemptsPerPlace = 3;
constexpr std::int64_t kPauseMsMaxOnCluster = 5'000;
constexpr std::int64_t kReaderPauseMsMin = 1'000;

/// Returns true if one message can end several waits.
bool can_share(LockKind kind) { return kind == LockKind::kRead || !has_owner(kind); }

}  // namespace

LockWait::LockWait(std::shared_ptr<LockCore> core, LockWish wish,
                   std::optional<std::int64_t> deadline_ms, LockCore::Callback done)
    : core_(std::move(core)),
      wish_(std::move(wish)),
      channel_(core_->wait_channel(wish_)),
      deadline_ms_(deadline_ms),
      began_at_ms_(core_->clock().monotonic_ms()),
      done_(std::move(done)) {}

void LockWait::start() {
  if (deadline_ms_) set_timer(deadline_timer_, *deadline_ms_, &LockWait::deadline_passed);
  join();
}

void LockWait::join() {
  core_->channels().add(channel_, shared_from_this(), can_share(wish_.kind));
  bool is_done = false;
  {
    const std::lock_guard lock(mutex_);
    is_done = is_done_;
  }
  if (is_done) core_->channels().remove(channel_, shared_from_this());
}

bool LockWait::is_late() const {
  return deadline_ms_ && core_->clock().monotonic_ms() >= *deadline_ms_;
}

void LockWait::set_timer(Timer& timer, std::int64_t due_ms, void (LockWait::*run)()) {
  const std::lock_guard lock(mutex_);
  if (is_done_) return;
  if (timer) core_->scheduler().cancel(*timer);
  timer = core_->scheduler().at(due_ms, [weak = weak_from_this(), run] {
    if (const std::shared_ptr<LockWait> self = weak.lock()) (self.get()->*run)();
  });
}

std::int64_t LockWait::retry_at_ms() const { return core_->clock().monotonic_ms() + kRetryMs; }

void LockWait::subscribed(const absl::Status& status) {
  const bool may_pass = absl::IsUnavailable(status) && !is_late();
  if (!status.ok() && !may_pass) return finish(status);
  if (!status.ok()) return set_timer(pause_timer_, retry_at_ms(), &LockWait::join);
  {
    const std::lock_guard lock(mutex_);
    is_subscribed_ = true;
  }
  attempt();
}

void LockWait::attempt() {
  core_->attempt_async(wish_, [self = shared_from_this()](absl::StatusOr<LockCore::Attempt> tried) {
    self->attempted(tried);
  });
}

void LockWait::attempted(const absl::StatusOr<LockCore::Attempt>& attempted) {
  const bool may_pass = absl::IsUnavailable(attempted.status()) && !is_late();
  if (!attempted.ok() && !may_pass) return finish(attempted.status());
  if (attempted.ok() && attempted->is_acquired) return finish(true);
  if (is_late()) return finish(false);
  if (!core_->channels().pause(channel_, shared_from_this())) return attempt();
  pause_for(attempted.ok() ? attempted->lease_left_ms : kRetryMs);
}

/// Pauses. No message comes when the holder's lease ends by itself, nor when a JVM that writes goes
/// on as a reader: readers try again whenever the time that they waited has doubled. An attempt
/// renews the place in a queue. On a Redis Cluster a message may be lost while its slot moves.
void LockWait::pause_for(std::int64_t lease_left_ms) {
  const std::int64_t now_ms = core_->clock().monotonic_ms();
  std::int64_t pause_ms = lease_left_ms;  // negative: for ever
  const auto shorten_to = [&pause_ms](std::int64_t ms) {
    pause_ms = pause_ms < 0 ? ms : std::min(pause_ms, ms);
  };
  if (wish_.kind == LockKind::kFair) shorten_to(wish_.queue_ms / kAttemptsPerPlace);
  if (wish_.kind == LockKind::kRead) shorten_to(std::max(now_ms - began_at_ms_, kReaderPauseMsMin));
  if (core_->has_slots()) shorten_to(kPauseMsMaxOnCluster);
  if (pause_ms < 0) return;
  set_timer(pause_timer_, now_ms + std::max<std::int64_t>(pause_ms, 1), &LockWait::pause_ended);
}

void LockWait::pause_ended() {
  if (core_->channels().end_pause(channel_, shared_from_this())) attempt();
}

/// Makes the last attempt of a wait that has subscribed.
void LockWait::deadline_passed() {
  bool is_subscribed = false;
  {
    const std::lock_guard lock(mutex_);
    is_subscribed = is_subscribed_;
  }
  if (!is_subscribed) return finish(false);
  pause_ended();
}

void LockWait::finish(absl::StatusOr<bool> result) {
  LockCore::Callback done;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_done_, true)) return;
    for (Timer* const timer : {&deadline_timer_, &pause_timer_}) {
      if (*timer) core_->scheduler().cancel(**timer);
    }
    done = std::move(done_);
  }
  const bool is_acquired = result.ok() && *result;
  if (wish_.kind == LockKind::kFair && !is_acquired) core_->leave_queue(wish_);
  const std::shared_ptr<LockWait> self = shared_from_this();
  core_->channels().remove(channel_, self);
  core_->remove(self);
  done(std::move(result));
}

}  // namespace rushgate
