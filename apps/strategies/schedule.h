// The order of events that brings a strategy's fault out, where chance would be too rare.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/sale/vouchers/voucher.h"

namespace rushgate::strategies {

enum class ScheduleKind : std::uint8_t {
  kFree,          // nothing is forced
  kClicksMeet,    // both clicks of a user read before either writes
  kTwoProcesses,  // as kClicksMeet, in two processes that share the database
};

/// "free", "clicks-meet", …: for JSON.
std::string_view schedule_name(ScheduleKind kind);
/// Returns what the schedule forces, in plain words.
std::string_view schedule_text(ScheduleKind kind);
/// Returns in how many processes the shop runs.
int processes_of(ScheduleKind kind);

/// Counts in memory that the processes of one rush share; all zeros at first.
struct SharedCounts {
  static constexpr std::size_t kBeforeUsers = 1;
  static std::size_t size(std::int64_t users) {
    return kBeforeUsers + static_cast<std::size_t>(users);
  }

  std::span<std::atomic<std::uint32_t>> counts = {};  // size(users); empty: nothing is forced

  /// Meetings to which the second click did not come.
  [[nodiscard]] std::atomic<std::uint32_t>& in_vain() const { return counts[0]; }
  /// Clicks of a user that have read.
  [[nodiscard]] std::atomic<std::uint32_t>& arrived(UserId user) const {
    return counts[kBeforeUsers + static_cast<std::size_t>(user) - 1];
  }
};

/// What a strategy reports about its progress, so that a schedule can stop it there. Thread-safe.
class Schedule {
 public:
  struct Options {
    ScheduleKind kind = ScheduleKind::kFree;
    /// The process will be killed when so many purchases were accepted. 0: it will not.
    std::int64_t kill_after = 0;
    /// Called once by the thread that shall not go on: the process is to be killed now.
    void (*wait_for_kill)() = nullptr;
  };

  Schedule(const Options& options, SharedCounts shared) : options_(options), shared_(shared) {}
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  /// A strategy calls it when it has read the stock and the user's orders, and has changed nothing.
  void between_read_and_write(UserId user);
  /// A strategy calls it where a kill does the most harm: one of two changes is made, or a message
  /// is in no queue and in no table.
  void half_done();

  /// The strategy has accepted a purchase.
  void note_accepted() { ++accepted_; }

 private:
  const Options options_;
  const SharedCounts shared_;
  std::atomic<std::int64_t> accepted_{0};
};

}  // namespace rushgate::strategies
