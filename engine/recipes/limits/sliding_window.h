// Limits the grants within any period of a given length.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "engine/recipes/limits/permission.h"
#include <rushgate/backend.h>

namespace rushgate {

/// A value type.
struct SlidingWindowOptions {
  enum class Kind : std::uint8_t {
    kExact,        // keeps each grant: memory and work grow with `maximum`
    kApproximate,  // keeps two counts, and treats the grants of the previous window as spread
                   // evenly
  };

  std::string key_prefix = "sliding-window:";
  Kind kind = Kind::kExact;
  std::int64_t maximum = 1;  // grants within any window
  std::int64_t window_ms = 1'000;
  ClientOptions client = {};
};

/// Keeps a window per name. Time is the server's. If that clock goes back, grants that then lie in
/// the future count as granted now. A key expires one window after the last grant, with
/// kApproximate two windows. Thread-safe. Does not own the backend, which must outlive it.
class SlidingWindow {
 public:
  /// For kExact, since one call may remove that many grants.
  static constexpr std::int64_t kExactMaximumMax = 10'000;
  static constexpr std::int64_t kMaximumMax = 1'000'000'000;
  static constexpr std::int64_t kWindowMsMax = 366LL * 24 * 60 * 60 * 1'000;

  /// kInvalidArgument: an option is out of range.
  static absl::StatusOr<std::unique_ptr<SlidingWindow>> create(Backend& backend,
                                                               SlidingWindowOptions options);

  /// Takes one grant of the window called `name`, if there is one.
  absl::StatusOr<Permission> take(std::string_view name);

 private:
  SlidingWindow(Backend& backend, SlidingWindowOptions options);

  const SlidingWindowOptions options_;
  const std::string maximum_;    // in decimal
  const std::string window_us_;  // in decimal
  const std::unique_ptr<Client> client_;
};

}  // namespace rushgate
