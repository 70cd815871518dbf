// Limits how many are granted within any stretch of time of a given length.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "engine/client/backend.h"
#include "engine/recipes/limits/permission.h"

namespace rushgate {

/// A value type.
struct SlidingWindowOptions {
  enum class Kind : std::uint8_t {
    kExact,        // keeps each grant: memory and work grow with `maximum`
    kApproximate,  // keeps two counts, and takes the grants of the window before this one as spread
                   // evenly over it
  };

  std::string key_prefix = "sliding-window:";
  Kind kind = Kind::kExact;
  std::int64_t maximum = 1;  // grants within any window
  std::int64_t window_ms = 1'000;
  ClientOptions client = {};
};

/// A window per name. Its time is the server's; a grant of a time that the server's clock has gone
/// back behind counts as of now. Keys expire a window (kApproximate: two) after the last grant.
/// Thread-safe. Does not own the backend, which must outlive it.
class SlidingWindow {
 public:
  /// Of kExact: one call may have to remove as many grants as there are.
  static constexpr std::int64_t kExactMaximumMax = 10'000;
  static constexpr std::int64_t kMaximumMax = 1'000'000'000;
  static constexpr std::int64_t kWindowMsMax = 366LL * 24 * 60 * 60 * 1'000;

  /// kInvalidArgument: an option is out of range.
  static absl::StatusOr<std::unique_ptr<SlidingWindow>> create(Backend& backend,
                                                               SlidingWindowOptions options);

  absl::StatusOr<Permission> take(std::string_view name);

 private:
  SlidingWindow(Backend& backend, SlidingWindowOptions options);

  const SlidingWindowOptions options_;
  const std::string maximum_;    // in decimal
  const std::string window_us_;  // in decimal
  const std::unique_ptr<Client> client_;
};

}  // namespace rushgate
