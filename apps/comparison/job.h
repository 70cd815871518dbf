// What a child process of the comparison is told to do, and what it reports.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "apps/strategies/schedule.h"

namespace rushgate::comparison {

/// Part of a rush: the clicks whose number modulo `parts` is `part`.
struct Job {
  std::string strategy;       // its letter
  std::filesystem::path dir;  // of the order file, and of the keyspace without a URL
  std::string keyspace_url;   // of a Redis; empty: RocksDB in the directory
  std::string prefix;         // of all keys
  std::int64_t users = 0;     // 0: no clicks, but what an earlier process left is finished
  std::int64_t stock = 0;
  int threads = 1;
  std::uint64_t seed = 0;
  strategies::ScheduleKind schedule = strategies::ScheduleKind::kFree;
  bool will_happen = false;  // strategies::Schedule::Options
  bool publish = false;
  std::int64_t kill_after = 0;  // purchases; 0: it is not killed
  int part = 0;
  int parts = 1;
  int shared_fd = -1;  // memory for SharedCounts; -1: nothing is forced

  /// One line of JSON.
  [[nodiscard]] std::string line() const;
  static Job from_line(const std::string& line);
};

/// The end of a job that was not killed.
struct JobResult {
  std::int64_t answered = 0;
  std::int64_t turned_away = 0;
  double seconds = 0;  // from the first click to the last answer
  std::int64_t p50_ns = 0;
  std::int64_t p99_ns = 0;
  std::int64_t stock_left = 0;

  [[nodiscard]] std::string line() const;
  static JobResult from_line(const std::string& line);
};

// A child writes these lines to stdout. It gets its job as a line on stdin, and starts to sell when
// it gets another.
inline constexpr char kReadyLine[] = "ready";
inline constexpr char kHalfLine[] = "half";    // kill me now
inline constexpr char kAcceptedWord[] = "a ";  // and the user: what the user was told
inline constexpr char kAnsweredWord[] = "p ";  // and how many clicks were answered so far
inline constexpr char kEndWord[] = "end ";     // and JobResult::line()

}  // namespace rushgate::comparison
