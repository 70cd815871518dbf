#include "apps/strategies/schedule.h"

#include <chrono>
#include <thread>

namespace rushgate::strategies {
namespace {

/// The longest wait for an event that is certain.
constexpr std::int64_t kPatienceMs = 30'000;
/// The wait for an event that cannot happen, and how often. A few times are proof enough.
constexpr std::int64_t kVainPatienceMs = 200;
constexpr std::uint32_t kInVainMax = 4;

constexpr std::int64_t kLeaseMs = 10'000;
constexpr std::int64_t kShortLeaseMs = 2'000;  // many times kVainPatienceMs
constexpr std::int64_t kLongerThanLeaseMs = kShortLeaseMs + 300;

/// Waits for at most `patience_ms`. Returns false if `is_true` is still false then.
bool wait_until(std::int64_t patience_ms, absl::FunctionRef<bool()> is_true) {
  using SteadyClock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds kLook{100};
  const auto deadline = SteadyClock::now() + std::chrono::milliseconds(patience_ms);
  while (!is_true()) {
    if (SteadyClock::now() > deadline) return false;
    std::this_thread::sleep_for(kLook);
  }
  return true;
}

}  // namespace

std::string_view schedule_name(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::kFree:
      return "free";
    case ScheduleKind::kLastPiece:
      return "last-piece";
    case ScheduleKind::kClicksMeet:
      return "clicks-meet";
    case ScheduleKind::kTwoProcesses:
      return "two-processes";
    case ScheduleKind::kReleaseLate:
      return "release-late";
    case ScheduleKind::kHoldLong:
      return "hold-long";
    case ScheduleKind::kWorkerRestarts:
      return "worker-restarts";
    case ScheduleKind::kWorkerLate:
      return "worker-late";
    case ScheduleKind::kFewShards:
      return "few-shards";
  }
  return "";
}

std::string_view schedule_text(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::kFree:
      return "nothing";
    case ScheduleKind::kLastPiece:
      return "a click that has read that one piece is left pauses before its write, until another "
             "click has read the same";
    case ScheduleKind::kClicksMeet:
      return "the first click of a user pauses between its read and its write, until the second "
             "has read, too";
    case ScheduleKind::kTwoProcesses:
      return "two processes sell, and each gets one of a user's two clicks; the first pauses "
             "between "
             "its read and its write, until the second has read, too";
    case ScheduleKind::kReleaseLate:
      return "a click that holds the lock pauses before it releases it, until its lease has ended "
             "and another click holds the lock";
    case ScheduleKind::kHoldLong:
      return "a click that holds the lock pauses between its read and its write, for longer than "
             "its lease";
    case ScheduleKind::kWorkerRestarts:
      return "the worker that stores orders stops when a quarter of the stock is sold, and starts "
             "again when half of it is sold";
    case ScheduleKind::kWorkerLate:
      return "the worker that stores orders first starts when a quarter of the stock is sold";
    case ScheduleKind::kFewShards:
      return "all users who click belong to two of the four shards";
  }
  return "";
}

int processes_of(ScheduleKind kind) { return kind == ScheduleKind::kTwoProcesses ? 2 : 1; }

Schedule::Schedule(const Options& options, SharedCounts shared)
    : options_(options), shared_(shared) {
  if (options.kind == ScheduleKind::kWorkerRestarts) {
    away_from_ = options.stock / 4;
    away_to_ = options.stock / 2;
  } else if (is_worker_late()) {
    away_to_ = options.stock / 4;
    has_left_ = true;
  }
}

// ---- For strategies ---------------------------------------------------------------------------

void Schedule::between_read_and_write(std::int64_t user, std::int64_t stock) {
  switch (options_.kind) {
    case ScheduleKind::kFree:
    case ScheduleKind::kWorkerRestarts:
    case ScheduleKind::kWorkerLate:
    case ScheduleKind::kFewShards:
      return;
    case ScheduleKind::kLastPiece:
      if (stock == 1) meet(shared_.arrived(), kVainPatienceMs);
      return;
    case ScheduleKind::kClicksMeet:
    case ScheduleKind::kTwoProcesses:
      return meet(shared_.arrived(user), kVainPatienceMs);
    case ScheduleKind::kReleaseLate:
      if (is_release_late_) meet(shared_.arrived(), kVainPatienceMs);
      return;
    case ScheduleKind::kHoldLong:
      return meet(shared_.arrived(), kLongerThanLeaseMs);
  }
}

void Schedule::meet(std::atomic<std::uint32_t>& arrived, std::int64_t vain_patience_ms) {
  if (shared_.in_vain() >= (is_about_locks() ? 1 : kInVainMax)) return;
  {
    const std::lock_guard lock(mutex_);
    is_open_ = true;  // lets a second click begin
  }
  changed_.notify_all();
  ++arrived;
  ++waiting_;
  const bool will_happen = options_.will_happen && shared_.met() == 0;
  const bool has_met =
      wait_until(will_happen ? kPatienceMs : vain_patience_ms, [&] { return arrived >= 2; });
  ++(has_met ? shared_.met() : shared_.in_vain());
  --waiting_;
}

void Schedule::half_done() {
  if (!options_.kill_late && is_kill_due()) options_.wait_for_kill();
}

void Schedule::half_done(std::int64_t user) {
  if (options_.kill_late || !is_kill_due()) return;
  wait_until(kPatienceMs, [&] {
    const std::lock_guard lock(mutex_);
    return buyers_.contains(user);
  });
  options_.wait_for_kill();
}

void Schedule::half_stored() {
  if (options_.kill_late && is_kill_due()) options_.wait_for_kill();
}

bool Schedule::is_kill_due() const {
  return options_.kill_after > 0 && accepted_ >= options_.kill_after;
}

void Schedule::before_release() {
  if (options_.kind != ScheduleKind::kReleaseLate || is_release_late_.exchange(true)) return;
  wait_until(options_.will_happen ? kPatienceMs : kLongerThanLeaseMs, [&] { return waiting_ > 0; });
}

std::int64_t Schedule::lease_ms() const { return is_about_locks() ? kShortLeaseMs : kLeaseMs; }

bool Schedule::is_about_locks() const {
  return options_.kind == ScheduleKind::kReleaseLate || options_.kind == ScheduleKind::kHoldLong;
}

// ---- For the workers of strategies ------------------------------------------------------------

bool Schedule::shall_worker_leave() {
  if (options_.kind != ScheduleKind::kWorkerRestarts || accepted_ < away_from_) return false;
  return !has_left_.exchange(true);
}

void Schedule::stay_away(absl::FunctionRef<bool()> is_over) {
  wait_until(kPatienceMs, [&] { return accepted_ >= away_to_ || is_over(); });
}

/// Blocks while the worker leaves or comes back: clicks are faster than its restart.
void Schedule::keep_pace() {
  if (away_to_ == 0) return;
  if (accepted_ >= away_from_) wait_until(kPatienceMs, [&] { return has_left_.load(); });
  if (accepted_ >= away_to_) wait_until(kPatienceMs, [&] { return has_come_back_.load(); });
}

// ---- For the rush -----------------------------------------------------------------------------

void Schedule::begin_click() {
  keep_pace();
  if (options_.kind != ScheduleKind::kLastPiece) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_open_ || !is_busy_; });
  is_busy_ = true;
}

void Schedule::note_accepted(std::int64_t user) {
  ++accepted_;
  if (options_.kill_after == 0) return;
  const std::lock_guard lock(mutex_);
  buyers_.insert(user);
}

void Schedule::end_click() {
  if (options_.kind != ScheduleKind::kLastPiece) return;
  {
    const std::lock_guard lock(mutex_);
    is_busy_ = false;
  }
  changed_.notify_all();
}

}  // namespace rushgate::strategies
