#include <rushgate/purchase.h>

namespace rushgate {

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kAccepted:
      return "accepted";
    case Outcome::kSoldOut:
      return "sold out";
    case Outcome::kLimitReached:
      return "limit reached";
    case Outcome::kDayLimitReached:
      return "day limit reached";
    case Outcome::kNotStarted:
      return "not started";
    case Outcome::kEnded:
      return "ended";
    case Outcome::kUnknownVoucher:
      return "unknown voucher";
    case Outcome::kOverloaded:
      return "overloaded";
    case Outcome::kUnavailable:
      return "unavailable";
    case Outcome::kOutcomeUnknown:
      return "outcome unknown";
    case Outcome::kKeyReused:
      return "request key reused";
    case Outcome::kRefused:
      return "refused";
    case Outcome::kFailed:
      return "failed";
  }
  return "?";
}

}  // namespace rushgate
