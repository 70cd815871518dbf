#include <array>
#include <chrono>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/base/time_units.h"
#include "engine/recipes/ids/day_name.h"
#include <rushgate/limits.h>

namespace rushgate {
namespace {

/// Returns the day as yyyyMMdd.
std::string day_at(std::int64_t ms_since_1970, std::int64_t utc_offset_minutes) {
  return day_name(std::chrono::floor<std::chrono::days>(
                      std::chrono::milliseconds(ms_since_1970 + utc_offset_minutes * kMinuteMs))
                      .count());
}

std::array<CountedLimit, 3> limits_of(const CouponLimitsOptions& options, const Coupon& coupon,
                                      std::int64_t user, std::int64_t at_ms) {
  const std::string coupon_text = concat(coupon.id);
  const std::string user_text = concat(user);
  return {CountedLimit{.key = concat(options.key_prefix, "day:", coupon_text, ":",
                                     day_at(at_ms, options.utc_offset_minutes)),
                       .field = user_text,
                       .maximum = coupon.per_user_and_day,
                       .code = CouponLimits::kReachedPerDay,
                       .lifetime_ms = 2 * kDayMs},
          CountedLimit{.key = concat(options.key_prefix, "user:", user_text),
                       .field = coupon_text,
                       .maximum = coupon.per_user,
                       .code = CouponLimits::kReachedPerUser},
          CountedLimit{.key = concat(options.key_prefix, "total"),
                       .field = coupon_text,
                       .maximum = coupon.total,
                       .code = CouponLimits::kSoldOut}};
}

}  // namespace

CouponLimits::CouponLimits(Backend& backend, CouponLimitsOptions options)
    : clock_(backend.clock()), options_(std::move(options)), limits_(backend, options_.client) {}

absl::StatusOr<CouponLimits::Code> CouponLimits::take(const Coupon& coupon, std::int64_t user) {
  if (!is_utc_offset(options_.utc_offset_minutes)) {
    return absl::InvalidArgumentError(
        concat("utc_offset_minutes ", kUtcOffsetFault, ", not ", options_.utc_offset_minutes));
  }
  ASSIGN_OR_RETURN(const auto code,
                   limits_.take(limits_of(options_, coupon, user, clock_.now_ms())));
  return static_cast<Code>(code);
}

absl::Status CouponLimits::give_back(const Coupon& coupon, std::int64_t user,
                                     std::int64_t taken_at_ms) {
  return limits_.give_back(limits_of(options_, coupon, user, taken_at_ms));
}

}  // namespace rushgate
