// The classic three limits of a coupon: per user and day, per user, and in total.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/recipes/limits/counted_limits.h"
#include <rushgate/backend.h>
#include <rushgate/clock.h>

namespace rushgate {

/// A coupon and its limits.
struct Coupon {
  std::int64_t id = 0;
  std::int64_t per_user_and_day = 0;
  std::int64_t per_user = 0;
  std::int64_t total = 0;
};

/// A value type.
struct CouponLimitsOptions {
  std::string key_prefix = "coupon:";
  std::int64_t utc_offset_minutes = 0;  // of the place whose days count
  ClientOptions client = {};
};

/// Gives out coupons. The codes are those of the classic coupon script. Thread-safe. Does not own
/// the backend, which must outlive it.
///
/// Keys, all hashes of counts:
///
///     <prefix>day:<coupon>:<yyyyMMdd>   field <user>, for two days
///     <prefix>user:<user>               field <coupon>
///     <prefix>total                     field <coupon>
///
/// In the classic script the caller names the hashes. A caller that names one hash for all users
/// makes them share one limit. Here the name contains the user.
class CouponLimits {
 public:
  enum Code : std::int64_t {
    kGranted = 0,
    kReachedPerDay = 1,   // the user has the most that one day allows
    kReachedPerUser = 2,  // the user has the most that is allowed in all
    kSoldOut = 3,
  };

  explicit CouponLimits(Backend& backend, CouponLimitsOptions options = {});

  /// Counts one coupon for the user, unless a limit is reached. kInvalidArgument: a limit is
  /// negative.
  absl::StatusOr<Code> take(const Coupon& coupon, std::int64_t user);

  /// Undoes one take() of the time `taken_at_ms` (ms since 1970 UTC), on all three counts.
  absl::Status give_back(const Coupon& coupon, std::int64_t user, std::int64_t taken_at_ms);

 private:
  const Clock& clock_;
  const CouponLimitsOptions options_;
  CountedLimits limits_;
};

}  // namespace rushgate
