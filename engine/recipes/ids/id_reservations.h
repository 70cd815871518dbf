// A database that remembers the counters that may have been drawn: an optional port of IdGenerator.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

namespace rushgate {

/// Thread-safe. Days are days since 1970 by the generator's IdLayout. A method may throw: that
/// counts as an error.
class IdReservations {
 public:
  virtual ~IdReservations() = default;

  /// Returns the greatest id below `below` that the database has; 0 if there is none.
  virtual absl::StatusOr<std::int64_t> greatest_id(std::int64_t below) = 0;

  /// Raises the greatest reserved counter of `day` to `above` if it is below, and then by `count`.
  /// Returns the new counter. The caller owns the last `count` counters up to it; no two calls
  /// reserve the same one. With the count 0 nothing is recorded. May forget the days before the
  /// last two.
  virtual absl::StatusOr<std::int64_t> reserve(std::int64_t day, std::int64_t above,
                                               std::int64_t count) = 0;
};

}  // namespace rushgate
