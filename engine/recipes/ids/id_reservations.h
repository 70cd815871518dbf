// A database that remembers which counters may have been drawn: an optional port of IdGenerator.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

namespace rushgate {

/// Thread-safe. Days are days since 1970 by the generator's IdLayout. A method may throw. That is an
/// error as any other.
class IdReservations {
 public:
  virtual ~IdReservations() = default;

  /// Returns the greatest id below `below` that the database has; 0 if there is none.
  virtual absl::StatusOr<std::int64_t> greatest_id(std::int64_t below) = 0;

  /// Raises the greatest reserved counter of `day` to `above`, if it is below, and then by `count`.
  /// Returns it. No two calls reserve the same counter: the caller has the last `count` up to the
  /// result. With the count 0 nothing is recorded. May forget the days before the last two.
  virtual absl::StatusOr<std::int64_t> reserve(std::int64_t day, std::int64_t above,
                                               std::int64_t count) = 0;
};

}  // namespace rushgate
