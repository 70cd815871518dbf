#include "apps/strategies/schedule.h"

#include <chrono>
#include <thread>

namespace rushgate::strategies {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// How long the first click waits for the second. In a strategy that lets only one of them in, it
/// waits in vain. A few of these are proof enough.
constexpr std::chrono::milliseconds kPatience{250};
constexpr std::uint32_t kInVainMax = 4;
constexpr std::chrono::microseconds kLook{100};

}  // namespace

std::string_view schedule_name(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::kFree:
      return "free";
    case ScheduleKind::kClicksMeet:
      return "clicks-meet";
    case ScheduleKind::kTwoProcesses:
      return "two-processes";
  }
  return "";
}

std::string_view schedule_text(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::kFree:
      return "nothing";
    case ScheduleKind::kClicksMeet:
      return "the first click of a user pauses between its read and its write until the second "
             "click has read, too";
    case ScheduleKind::kTwoProcesses:
      return "two processes sell from one database, and each gets one of a user's two clicks; the "
             "first pauses between its read and its write until the second has read, too";
  }
  return "";
}

int processes_of(ScheduleKind kind) { return kind == ScheduleKind::kTwoProcesses ? 2 : 1; }

void Schedule::between_read_and_write(UserId user) {
  if (options_.kind == ScheduleKind::kFree || shared_.in_vain() >= kInVainMax) return;
  std::atomic<std::uint32_t>& arrived = shared_.arrived(user);
  ++arrived;
  const SteadyClock::time_point deadline = SteadyClock::now() + kPatience;
  while (arrived < 2) {
    if (SteadyClock::now() > deadline) {
      ++shared_.in_vain();
      return;
    }
    std::this_thread::sleep_for(kLook);
  }
}

void Schedule::half_done() {
  if (options_.kill_after == 0 || accepted_ < options_.kill_after) return;
  options_.wait_for_kill();
}

}  // namespace rushgate::strategies
