// Runs the same rush against every strategy and counts the faults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/comparison/child.h"
#include "apps/comparison/job.h"
#include "apps/strategies/order_file.h"
#include "apps/strategies/strategy.h"
#include <rushgate/backend.h>
#include <rushgate/open_backend.h>

namespace rushgate::comparison {

struct ComparisonOptions {
  std::int64_t users = 2'000;
  std::int64_t stock = 200;
  int threads = 8;
  std::uint64_t seed = 1;
  std::filesystem::path dir = {};  // parent of a temporary directory for each rush
  std::string redis_url = {};      // empty: each rush has a keyspace on disk
};

/// The result of one rush.
struct RushResult {
  strategies::ScheduleKind schedule = strategies::ScheduleKind::kFree;
  bool was_killed = false;  // killed half-way and restarted
  std::int64_t served = 0;
  std::int64_t accepted = 0;  // reported to users as accepted
  double seconds = 0;
  std::int64_t p50_ns = 0;
  std::int64_t p99_ns = 0;
  std::int64_t orders = 0;  // in the order file at the end
  std::map<strategies::Fault, std::int64_t> faults = {};
};

struct StrategyResult {
  const strategies::StrategyKind* kind = nullptr;
  std::vector<RushResult> rushes = {};  // free, forced, killed

  /// Returns the highest count of all rushes.
  [[nodiscard]] std::int64_t worst(strategies::Fault fault) const;
  /// Returns the schedules that were forced.
  [[nodiscard]] std::vector<strategies::ScheduleKind> forced() const;
  /// Returns the clicks served per second in the free rush.
  [[nodiscard]] double rate() const;
};

/// Returns true if this fault makes a strategy unsafe. kTurnedAway alone does not.
bool is_unsafe(strategies::Fault fault);
bool is_safe(const strategies::StrategyKind& kind);

/// The progress of a comparison.
struct ComparisonProgress {
  std::size_t served = 0;
  std::size_t clicks = 0;  // of all rushes
  std::string doing = {};
};

/// Runs comparisons. Not thread-safe.
class Comparison {
 public:
  using ShowProgress = absl::FunctionRef<void(const ComparisonProgress&)>;

  /// Connects to the Redis, if one is configured. Errors are those of open_backend().
  static absl::StatusOr<std::unique_ptr<Comparison>> open(
      const ComparisonOptions& options, std::vector<const strategies::StrategyKind*> kinds);

  /// Runs the comparison. Returns kCancelled if interrupt_signal() is not 0, and kInternal if a
  /// selling process failed. That process wrote its error to stderr.
  absl::StatusOr<std::vector<StrategyResult>> run(ShowProgress show);

 private:
  struct Sold {  // the reports of the processes of one rush
    std::map<std::int64_t, std::int64_t> promised = {};
    JobResult result = {};
    bool reached_half = false;
    std::string error = {};  // of the first process that failed

    void note_error(const std::string& what) {
      if (error.empty()) error = what;
    }
  };
  Comparison(const ComparisonOptions& options, std::vector<const strategies::StrategyKind*> kinds)
      : options_(options), kinds_(std::move(kinds)) {}

  absl::StatusOr<RushResult> rush(const strategies::StrategyKind& kind, strategies::Forced forced,
                                  bool kill, const std::string& doing, ShowProgress show);
  absl::StatusOr<Sold> sell(const Job& first, ShowProgress show);
  absl::Status listen(std::vector<std::unique_ptr<Child>>& children, Sold& sold, ShowProgress show);
  absl::Status remove_keys();

  const ComparisonOptions options_;
  const std::vector<const strategies::StrategyKind*> kinds_;
  std::unique_ptr<Backend> redis_;  // null: the keyspaces are embedded
  std::string prefix_;              // of the keys of one rush
  ComparisonProgress progress_;
};

}  // namespace rushgate::comparison
