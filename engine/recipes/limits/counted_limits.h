// Limits on counts: per day, per user, in total. Checked and counted in one script.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/backend.h>

namespace rushgate {

/// A count in a field of a hash, and its maximum.
struct CountedLimit {
  std::string key;               // of the hash
  std::string field = {};        // of the count in the hash
  std::int64_t maximum = 0;      // 0: nothing is granted
  std::int64_t code = 0;         // the result of take() when this limit is reached; not 0
  std::int64_t lifetime_ms = 0;  // of the hash, from its first count on; 0: for ever
};

/// Checks a list of limits in order, and counts all of them if none is reached. The list is one
/// script, so no two callers are granted the same last piece. Thread-safe. Does not own the
/// backend, which must outlive it.
///
/// The limits of one call may share a hash. On a Redis Cluster their keys must share a slot: give
/// them a hash tag.
class CountedLimits {
 public:
  /// The greatest count that a script reads exactly.
  static constexpr std::int64_t kCountMax = (std::int64_t{1} << 53) - 1;

  explicit CountedLimits(Backend& backend, const ClientOptions& client = {});

  /// Returns 0 if `amount` was counted on each of `limits`. Otherwise returns the code of the first
  /// limit that it would exceed, and counts nothing. kInvalidArgument: a limit is named twice, has
  /// the code 0, or is out of range. kUnavailable with OUTCOMEUNKNOWN: it may have been counted.
  absl::StatusOr<std::int64_t> take(std::span<const CountedLimit> limits, std::int64_t amount = 1);

  /// Undoes one take() of the same limits and amount. A count never falls below 0. Does not restore
  /// a count whose hash has expired.
  absl::Status give_back(std::span<const CountedLimit> limits, std::int64_t amount = 1);

 private:
  absl::StatusOr<std::int64_t> run(const class Script& script, std::span<const CountedLimit> limits,
                                   std::int64_t amount);

  const std::unique_ptr<Client> client_;
};

}  // namespace rushgate
