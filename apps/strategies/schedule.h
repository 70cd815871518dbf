// Forces the order of events that exposes a strategy's fault. By chance it would be too rare.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <span>
#include <string_view>

#include "absl/functional/function_ref.h"
#include <rushgate/voucher.h>

namespace rushgate::strategies {

enum class ScheduleKind : std::uint8_t {
  kFree,            // forces nothing
  kLastPiece,       // two clicks read that one piece is left
  kClicksMeet,      // both clicks of a user read before either writes
  kTwoProcesses,    // like kClicksMeet, in two processes that share the database
  kReleaseLate,     // a lock is released after its lease expired
  kHoldLong,        // work under a lock takes longer than the lease
  kWorkerRestarts,  // the worker is away while orders are admitted
  kWorkerLate,      // the worker starts for the first time after orders were admitted
  kFewShards,       // all users who come belong to half of the shards
};

/// Returns "free", "clicks-meet", …: used in the JSON.
std::string_view schedule_name(ScheduleKind kind);
/// Returns a description of the schedule in plain words.
std::string_view schedule_text(ScheduleKind kind);
/// Returns the number of processes of the shop.
int processes_of(ScheduleKind kind);

/// Counters that the processes of one rush share. All start at zero.
struct SharedCounts {
  static constexpr std::size_t kBeforeUsers = 3;
  static std::size_t size(std::int64_t users) {
    return kBeforeUsers + static_cast<std::size_t>(users);
  }

  std::span<std::atomic<std::uint32_t>> counts = {};  // size(users); empty: nothing is forced

  /// Returns the number of meetings that the second click missed.
  [[nodiscard]] std::atomic<std::uint32_t>& in_vain() const { return counts[0]; }
  /// Returns the number of meetings that the second click reached.
  [[nodiscard]] std::atomic<std::uint32_t>& met() const { return counts[1]; }
  /// Returns the number of clicks, of any user, that have read.
  [[nodiscard]] std::atomic<std::uint32_t>& arrived() const { return counts[2]; }
  /// Returns the number of this user's clicks that have read.
  [[nodiscard]] std::atomic<std::uint32_t>& arrived(std::int64_t user) const {
    return counts[kBeforeUsers + static_cast<std::size_t>(user) - 1];
  }
};

/// A strategy reports its position here, so that a schedule can pause it. Thread-safe.
class Schedule {
 public:
  struct Options {
    ScheduleKind kind = ScheduleKind::kFree;
    /// The strategy cannot prevent the forced event. The schedule waits for it on a slow machine
    /// too. If false, the wait is short and in vain.
    bool will_happen = false;
    std::int64_t stock = 0;
    /// The process will be killed after this many accepted purchases. 0: never.
    std::int64_t kill_after = 0;
    /// The kill comes at half_stored() instead of half_done().
    bool kill_late = false;
    /// Blocks a thread that must stop: the process is about to be killed.
    void (*wait_for_kill)() = nullptr;
  };

  Schedule(const Options& options, SharedCounts shared);
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  // ---- For strategies ----

  /// Reports that the click has read the stock and the user's orders, and has changed nothing.
  void between_read_and_write(std::int64_t user, std::int64_t stock);
  /// Reports the worst moment for a kill. One of two changes is made, or a message is in no queue
  /// and no table.
  void half_done();
  /// As half_done(), for a worker that holds the order of `user`. The kill comes after the purchase
  /// was reported. Otherwise the buyer of the lost order would not know of it, and chance would
  /// decide whether it counts as lost.
  void half_done(std::int64_t user);
  /// Reports that a message is in a table but not acknowledged. It will be delivered again.
  void half_stored();
  /// Reports that the work under a lock is done, and the lock still held.
  void before_release();
  /// Returns the lease of locks.
  [[nodiscard]] std::int64_t lease_ms() const;

  // ---- For the workers of strategies ----

  /// Returns true if the worker must call stay_away() before it starts.
  [[nodiscard]] bool is_worker_late() const { return options_.kind == ScheduleKind::kWorkerLate; }
  /// Returns true, once, if the worker must stop now and call stay_away().
  bool shall_worker_leave();
  /// Returns when the worker must start again, or when `is_over` returns true.
  void stay_away(absl::FunctionRef<bool()> is_over);
  /// Reports that the worker runs again.
  void come_back() { has_come_back_ = true; }

  // ---- For the rush ----

  /// Surrounds each click.
  void begin_click();
  void end_click();
  /// Called after the purchase was reported.
  void note_accepted(std::int64_t user);

 private:
  void keep_pace();
  [[nodiscard]] bool is_kill_due() const;
  void meet(std::atomic<std::uint32_t>& arrived, std::int64_t vain_patience_ms);
  [[nodiscard]] bool is_about_locks() const;

  const Options options_;
  const SharedCounts shared_;
  std::atomic<std::int64_t> accepted_{0};
  std::atomic<int> waiting_{0};  // clicks waiting for another one
  std::atomic<bool> is_release_late_{false};

  // The worker is away between these two counts of accepted purchases.
  std::int64_t away_from_ = 0;
  std::int64_t away_to_ = 0;
  std::atomic<bool> has_left_{false};
  std::atomic<bool> has_come_back_{false};

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_busy_ = false;  // guarded by mutex_: a click is between begin_click() and end_click()
  bool is_open_ = false;  // guarded by mutex_: clicks need not wait for each other
  std::set<std::int64_t>
      buyers_;  // guarded by mutex_: users of accepted purchases, if a kill is planned
};

}  // namespace rushgate::strategies
