// The job of a child process of the comparison, and its reports.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "apps/strategies/schedule.h"

namespace rushgate::comparison {

/// A part of a rush: the clicks whose index modulo `parts` is `part`.
struct Job {
  std::string strategy;       // the strategy's letter
  std::filesystem::path dir;  // of the order file, and of an embedded keyspace
  std::string keyspace_url;   // a Redis; empty: RocksDB in `dir`
  std::string prefix;         // of all keys
  std::int64_t users = 0;     // 0: no clicks, only finish the work of an earlier process
  std::int64_t stock = 0;
  int threads = 1;
  std::uint64_t seed = 0;
  strategies::ScheduleKind schedule = strategies::ScheduleKind::kFree;
  bool will_happen = false;  // strategies::Schedule::Options
  bool publish = false;
  std::int64_t kill_after = 0;  // purchases; 0: never killed
  int part = 0;
  int parts = 1;
  int shared_fd = -1;  // memory for SharedCounts; -1: nothing is forced

  /// Returns the job as one line of JSON.
  [[nodiscard]] std::string line() const;
  static Job from_line(const std::string& line);
};

/// The totals of a job that was not killed.
struct JobResult {
  std::int64_t served = 0;
  std::int64_t turned_away = 0;
  std::int64_t sold_out = 0;  // clicks that were refused for lack of stock
  double seconds = 0;         // from the first click to the last reply
  std::int64_t p50_ns = 0;
  std::int64_t p99_ns = 0;
  std::int64_t stock_left = 0;

  [[nodiscard]] std::string line() const;
  static JobResult from_line(const std::string& line);
};

// Lines that a child writes to stdout. It reads its job as one line from stdin. It starts to sell
// when it reads another line.
inline constexpr char kReadyLine[] = "ready";
inline constexpr char kHalfLine[] = "half";     // request to be killed now
inline constexpr char kAcceptedWord[] = "a ";   // the user whose purchase is accepted
inline constexpr char kServedWord[] = "p ";     // then how many clicks were served so far
inline constexpr char kEndWord[] = "end ";      // then JobResult::line()
inline constexpr char kErrorWord[] = "error ";  // then why it fails

}  // namespace rushgate::comparison
