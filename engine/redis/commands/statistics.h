// Counters for INFO. CONFIG RESETSTAT resets them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "engine/core/base/latency_histogram.h"

namespace rushgate {

struct CommandSpec;

/// Counts the commits to the store, and the fsyncs among them and beside them. Any thread may read it.
struct CommitCounts {
  std::atomic<std::uint64_t> commits{0};  // batches with changes
  std::atomic<std::uint64_t> syncs{0};
};

/// Counts error replies by their codes.
class ErrorCounts {
 public:
  /// Counts an error reply with the message `text`.
  void note(std::string_view text);

  [[nodiscard]] std::uint64_t total() const { return total_; }
  [[nodiscard]] const absl::btree_map<std::string, std::uint64_t>& by_code() const {
    return by_code_;
  }

 private:
  std::uint64_t total_ = 0;
  absl::btree_map<std::string, std::uint64_t> by_code_;  // bounded: scripts can invent codes
};

/// Counters of one command. A blocking command counts as one call, timed when it is
/// served.
struct CommandStatistics {
  std::uint64_t calls = 0;
  std::uint64_t rejected = 0;                 // refused before they ran; not counted as calls
  std::uint64_t failed = 0;                   // ran and replied with an error
  std::int64_t timed_ns = 0;                  // total, while Settings::latency_tracking was on
  std::unique_ptr<LatencyHistogram> latency;  // of those calls; null if there were none
};

class StatisticsByCommand {
 public:
  StatisticsByCommand();
  /// Returns the counters of the command with the record `spec`.
  CommandStatistics& operator[](const CommandSpec& spec) { return rows_[row_of(spec)]; }
  const CommandStatistics& operator[](const CommandSpec& spec) const { return rows_[row_of(spec)]; }

 private:
  static std::size_t row_of(const CommandSpec& spec);

  std::vector<CommandStatistics> rows_;  // of the command table, then of the program's commands
};

/// Belongs to the thread that holds the turn.
/// The rate of commands, sampled by INFO.
class CommandRate {
 public:
  /// Returns the commands per second between the last two samples, which are at least a second
  /// apart.
  std::uint64_t sample(std::uint64_t commands, std::int64_t now_ms) {
    constexpr std::int64_t kMsMin = 1'000;
    const std::int64_t passed_ms = now_ms - sampled_ms_;
    if (passed_ms < kMsMin) return per_second_;
    if (sampled_ms_ != 0 && commands >= commands_)
      per_second_ = (commands - commands_) * 1'000 / static_cast<std::uint64_t>(passed_ms);
    sampled_ms_ = now_ms;
    commands_ = commands;
    return per_second_;
  }

 private:
  std::int64_t sampled_ms_ = 0;
  std::uint64_t commands_ = 0;
  std::uint64_t per_second_ = 0;
};

struct Statistics {
  std::uint64_t commands = 0;    // executed, also in scripts and transactions
  std::uint64_t keys_found = 0;  // by read-only commands
  std::uint64_t keys_missed = 0;
  StatisticsByCommand by_command;
  ErrorCounts errors;
  CommandRate rate;
};

}  // namespace rushgate
