// Limits that are counted: so many per day, per user, in total. Checked and counted in one script.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/client/backend.h"

namespace rushgate {

/// A count in a field of a hash, and its maximum.
struct CountedLimit {
  std::string key;               // of the hash
  std::string field = {};        // in it
  std::int64_t maximum = 0;      // 0: nothing is granted
  std::int64_t code = 0;         // what take() returns if this limit is reached; not 0
  std::int64_t lifetime_ms = 0;  // of the hash, from its first count on; 0: for ever
};

/// Checks a list of limits in order, and counts all of them if none is reached. No two callers are
/// granted the same last piece, since the list is one script. Thread-safe. Does not own the backend,
/// which must outlive it.
///
/// The limits of one call may share a hash. On a Redis Cluster their keys must share a slot: give
/// them a hash tag.
class CountedLimits {
 public:
  /// The greatest count that a script reads exactly.
  static constexpr std::int64_t kCountMax = (std::int64_t{1} << 53) - 1;

  explicit CountedLimits(Backend& backend, const ClientOptions& client = {});

  /// Returns 0 if `amount` was counted on each of `limits`; else the code of the first that it would
  /// exceed, and nothing was counted. kInvalidArgument: a limit is named twice, has the code 0, or
  /// is out of range. kUnavailable with an OUTCOMEUNKNOWN: it may have been counted.
  absl::StatusOr<std::int64_t> take(std::span<const CountedLimit> limits, std::int64_t amount = 1);

  /// Undoes one take() of the same limits and amount. A count never falls below 0. A count whose
  /// hash has expired is not made again.
  absl::Status give_back(std::span<const CountedLimit> limits, std::int64_t amount = 1);

 private:
  absl::StatusOr<std::int64_t> run(const class Script& script, std::span<const CountedLimit> limits,
                                   std::int64_t amount);

  const std::unique_ptr<Client> client_;
};

}  // namespace rushgate
