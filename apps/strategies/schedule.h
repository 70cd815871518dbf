// The order of events that brings a strategy's fault out, where chance would be too rare.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "engine/sale/vouchers/voucher.h"

namespace rushgate::strategies {

enum class ScheduleKind : std::uint8_t {
  kFree,            // nothing is forced
  kLastPiece,       // two clicks read that one piece is left
  kClicksMeet,      // both clicks of a user read before either writes
  kTwoProcesses,    // as kClicksMeet, in two processes that share the database
  kReleaseLate,     // a lock is released after its lease
  kHoldLong,        // work under a lock takes longer than the lease
  kWorkerRestarts,  // the worker is away while orders are admitted
  kWorkerLate,      // the worker first starts when orders were admitted
};

/// "free", "clicks-meet", …: for JSON.
std::string_view schedule_name(ScheduleKind kind);
/// Returns what the schedule forces, in plain words.
std::string_view schedule_text(ScheduleKind kind);
/// Returns in how many processes the shop runs.
int processes_of(ScheduleKind kind);

/// Counts in memory that the processes of one rush share; all zeros at first.
struct SharedCounts {
  static constexpr std::size_t kBeforeUsers = 3;
  static std::size_t size(std::int64_t users) {
    return kBeforeUsers + static_cast<std::size_t>(users);
  }

  std::span<std::atomic<std::uint32_t>> counts = {};  // size(users); empty: nothing is forced

  /// Meetings to which the second click did not come.
  [[nodiscard]] std::atomic<std::uint32_t>& in_vain() const { return counts[0]; }
  /// Meetings to which it came.
  [[nodiscard]] std::atomic<std::uint32_t>& met() const { return counts[1]; }
  /// Clicks of any user that have read.
  [[nodiscard]] std::atomic<std::uint32_t>& arrived() const { return counts[2]; }
  /// Clicks of a user that have read.
  [[nodiscard]] std::atomic<std::uint32_t>& arrived(UserId user) const {
    return counts[kBeforeUsers + static_cast<std::size_t>(user) - 1];
  }
};

/// A strategy reports to it where it is, so that a schedule can stop it there. Thread-safe.
class Schedule {
 public:
  struct Options {
    ScheduleKind kind = ScheduleKind::kFree;
    /// The strategy cannot prevent what is forced. So the schedule waits for it, however slow the
    /// machine is. Otherwise it waits for a short time, in vain.
    bool will_happen = false;
    std::int64_t stock = 0;
    /// The process will be killed when so many purchases were accepted. 0: it will not.
    std::int64_t kill_after = 0;
    /// It will be killed at half_stored(), not at half_done().
    bool kill_late = false;
    /// Called by a thread that shall not go on: the process is to be killed now.
    void (*wait_for_kill)() = nullptr;
  };

  Schedule(const Options& options, SharedCounts shared);
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  // ---- For strategies ----

  /// The click has read the stock and the user's orders, and has changed nothing.
  void between_read_and_write(UserId user, std::int64_t stock);
  /// A kill would do the most harm here: one of two changes is made, or a message is in no queue and
  /// in no table.
  void half_done();
  /// A message is in a table, and its queue does not know it yet: it will be delivered once more.
  void half_stored();
  /// The work under a lock is done, and the lock is still held.
  void before_release();
  /// Returns the lease of locks.
  [[nodiscard]] std::int64_t lease_ms() const;

  // ---- For the workers of strategies ----

  /// Returns true if the worker shall not start at once, but stay_away() first.
  [[nodiscard]] bool is_worker_late() const { return options_.kind == ScheduleKind::kWorkerLate; }
  /// Returns true, once, if the worker shall stop now, and stay_away().
  bool shall_worker_leave();
  /// Returns when the worker shall start again, or when `is_over` returns true.
  void stay_away(absl::FunctionRef<bool()> is_over);
  /// The worker works again.
  void come_back() { has_come_back_ = true; }

  // ---- For the rush ----

  /// Around each click.
  void begin_click();
  void end_click();
  void note_accepted() { ++accepted_; }

 private:
  void keep_pace();
  void kill_if_due();
  void meet(std::atomic<std::uint32_t>& arrived, std::int64_t vain_patience_ms);
  [[nodiscard]] bool is_about_locks() const;

  const Options options_;
  const SharedCounts shared_;
  std::atomic<std::int64_t> accepted_{0};
  std::atomic<int> waiting_{0};  // clicks that wait for another
  std::atomic<bool> is_release_late_{false};

  // The worker is away from the first count of accepted purchases to the second.
  std::int64_t away_from_ = 0;
  std::int64_t away_to_ = 0;
  std::atomic<bool> has_left_{false};
  std::atomic<bool> has_come_back_{false};

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_busy_ = false;  // guarded by mutex_: a click is between begin_click() and end_click()
  bool is_open_ = false;  // guarded by mutex_: clicks need not wait for each other any more
};

}  // namespace rushgate::strategies
