// Gives every strategy the same rush, and counts what went wrong.
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
#include "engine/client/backend.h"

namespace rushgate::comparison {

struct ComparisonOptions {
  std::int64_t users = 2'000;
  std::int64_t stock = 200;
  int threads = 8;
  std::uint64_t seed = 1;
  std::filesystem::path dir = {};  // each rush has a directory in it, which is removed afterwards
  std::string redis_url = {};      // empty: each rush has a keyspace on the disk
};

/// One rush.
struct RushResult {
  strategies::ScheduleKind schedule = strategies::ScheduleKind::kFree;
  bool was_killed = false;  // half-way, and started again
  std::int64_t answered = 0;
  std::int64_t accepted = 0;  // that users were told
  double seconds = 0;
  std::int64_t p50_ns = 0;
  std::int64_t p99_ns = 0;
  std::int64_t orders = 0;  // in the order file at the end
  std::map<strategies::Fault, std::int64_t> faults = {};
};

struct StrategyResult {
  const strategies::StrategyKind* kind = nullptr;
  std::vector<RushResult> rushes = {};  // free, forced ones, killed

  /// Returns the worst of all rushes.
  [[nodiscard]] std::int64_t worst(strategies::Fault fault) const;
  /// Returns what was forced on it.
  [[nodiscard]] std::vector<strategies::ScheduleKind> forced() const;
  /// Clicks answered a second in the free rush.
  [[nodiscard]] double rate() const;
};

/// Returns true if a strategy that shows this fault is unsafe: kTurnedAway alone is only a nuisance.
bool is_unsafe(strategies::Fault fault);
bool is_safe(const strategies::StrategyKind& kind);

/// How far a comparison is.
struct ComparisonProgress {
  std::size_t answered = 0;
  std::size_t clicks = 0;  // of all rushes
  std::string doing = {};
};

/// For one thread.
class Comparison {
 public:
  using ShowProgress = absl::FunctionRef<void(const ComparisonProgress&)>;

  /// Connects to the Redis, if there is to be one. Errors are those of open_backend().
  static absl::StatusOr<std::unique_ptr<Comparison>> open(
      const ComparisonOptions& options, std::vector<const strategies::StrategyKind*> kinds);

  /// kCancelled: interrupt_signal() is not 0. kInternal: a process that sold ended with an error,
  /// which it wrote to stderr.
  absl::StatusOr<std::vector<StrategyResult>> run(ShowProgress show);

 private:
  struct Sold {  // what the processes of one rush reported
    std::map<UserId, std::int64_t> told = {};
    JobResult result = {};
    bool reached_half = false;
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
  std::unique_ptr<Backend> redis_;  // null: there is none
  std::string prefix_;              // of the keys of one rush
  ComparisonProgress progress_;
};

}  // namespace rushgate::comparison
