// What has happened, as INFO tells it. CONFIG RESETSTAT begins anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "engine/base/latency_histogram.h"

namespace rushgate {

struct CommandSpec;

/// Answers that are errors, by their codes: the first word.
class ErrorCounts {
 public:
  /// A command was answered with the error `text`.
  void note(std::string_view text);

  [[nodiscard]] std::uint64_t total() const { return total_; }
  [[nodiscard]] const absl::btree_map<std::string, std::uint64_t>& by_code() const {
    return by_code_;
  }

 private:
  std::uint64_t total_ = 0;
  absl::btree_map<std::string, std::uint64_t> by_code_;  // the first so many: scripts invent codes
};

/// Of one command. One that waits is a single call, timed when its wait is ended by what it waits
/// for.
struct CommandStatistics {
  std::uint64_t calls = 0;
  std::uint64_t rejected = 0;                 // did not run: they are no calls
  std::uint64_t failed = 0;                   // ran, and were answered with an error
  std::int64_t timed_ns = 0;                  // in all, while Settings::latency_tracking was on
  std::unique_ptr<LatencyHistogram> latency;  // of those calls; null: there were none
};

class StatisticsByCommand {
 public:
  StatisticsByCommand();
  /// Of the command whose row of the command table is `spec`.
  CommandStatistics& operator[](const CommandSpec& spec) { return rows_[row_of(spec)]; }
  const CommandStatistics& operator[](const CommandSpec& spec) const { return rows_[row_of(spec)]; }

 private:
  static std::size_t row_of(const CommandSpec& spec);

  std::vector<CommandStatistics> rows_;  // of the command table
};

/// Belongs to whoever has the turn.
struct Statistics {
  std::uint64_t commands = 0;    // that ran; those of scripts and transactions, too
  std::uint64_t keys_found = 0;  // by commands that only read
  std::uint64_t keys_missed = 0;
  StatisticsByCommand by_command;
  ErrorCounts errors;
};

}  // namespace rushgate
