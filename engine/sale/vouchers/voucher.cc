#include <rushgate/voucher.h>

namespace rushgate {

std::string find_fault(const Voucher& voucher) {
  constexpr std::int32_t kDayMinutes = 24 * 60;
  if (voucher.id <= 0) return "id must be positive, not " + std::to_string(voucher.id);
  if (voucher.stock < 0) return "stock must not be negative, not " + std::to_string(voucher.stock);
  if (voucher.begin_ms < 0) return "begin must not lie before 1970";
  if (voucher.end_ms <= voucher.begin_ms) return "end must lie after begin";
  if (voucher.price_cents < 0) return "price must not be negative";
  if (voucher.limits.total < 0) return "the total limit must not be negative";
  if (voucher.limits.per_user < 0) return "the limit per user must not be negative";
  if (voucher.limits.per_user_day < 0) return "the limit per user and day must not be negative";
  if (voucher.limits.utc_offset_minutes <= -kDayMinutes ||
      voucher.limits.utc_offset_minutes >= kDayMinutes) {
    return "the UTC offset must be less than a day";
  }
  return {};
}

std::string_view version_state_name(VoucherVersion::State state) {
  switch (state) {
    case VoucherVersion::State::kPending:
      return "pending";
    case VoucherVersion::State::kApplied:
      return "applied";
    case VoucherVersion::State::kRefused:
      return "refused";
  }
  return "?";
}

}  // namespace rushgate
