#include "apps/strategies/schedule.h"

#include <chrono>
#include <thread>

#include "absl/functional/function_ref.h"

namespace rushgate::strategies {
namespace {

/// How long a click waits for something that certainly happens.
constexpr std::int64_t kPatienceMs = 30'000;
/// How long it waits in vain, and how often: a few times are proof enough.
constexpr std::int64_t kVainPatienceMs = 200;
constexpr std::uint32_t kInVainMax = 4;

constexpr std::int64_t kLeaseMs = 10'000;
constexpr std::int64_t kShortLeaseMs = 3'000;  // many times kVainPatienceMs
constexpr std::int64_t kLongerThanLeaseMs = kShortLeaseMs + 500;

/// Returns false if `is_true` is still false after so long.
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
  }
  return "";
}

int processes_of(ScheduleKind kind) { return kind == ScheduleKind::kTwoProcesses ? 2 : 1; }

// ---- For strategies ---------------------------------------------------------------------------

void Schedule::between_read_and_write(UserId user, std::int64_t stock) {
  switch (options_.kind) {
    case ScheduleKind::kFree:
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
    is_open_ = true;  // so that there can be a second click
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
  if (options_.kill_after == 0 || accepted_ < options_.kill_after) return;
  options_.wait_for_kill();
}

void Schedule::before_release() {
  if (options_.kind != ScheduleKind::kReleaseLate || is_release_late_.exchange(true)) return;
  wait_until(options_.will_happen ? kPatienceMs : kLongerThanLeaseMs, [&] { return waiting_ > 0; });
}

std::int64_t Schedule::lease_ms() const { return is_about_locks() ? kShortLeaseMs : kLeaseMs; }

bool Schedule::is_about_locks() const {
  return options_.kind == ScheduleKind::kReleaseLate || options_.kind == ScheduleKind::kHoldLong;
}

// ---- For the rush -----------------------------------------------------------------------------

void Schedule::begin_click() {
  if (options_.kind != ScheduleKind::kLastPiece) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_open_ || !is_busy_; });
  is_busy_ = true;
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
