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
    case Outcome::kTokenRefused:
      return "token refused";
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

std::string_view wait_outcome_name(WaitOutcome outcome) {
  switch (outcome) {
    case WaitOutcome::kWaiting:
      return "waiting";
    case WaitOutcome::kFree:
      return "free";
    case WaitOutcome::kFull:
      return "full";
    case WaitOutcome::kLimitReached:
      return "limit reached";
    case WaitOutcome::kNotOnSale:
      return "not on sale";
    case WaitOutcome::kNoWaitingList:
      return "no waiting list";
    case WaitOutcome::kUnknownVoucher:
      return "unknown voucher";
    case WaitOutcome::kOverloaded:
      return "overloaded";
    case WaitOutcome::kUnavailable:
      return "unavailable";
    case WaitOutcome::kOutcomeUnknown:
      return "outcome unknown";
    case WaitOutcome::kFailed:
      return "failed";
  }
  return "?";
}

std::string_view change_outcome_name(ChangeOutcome outcome) {
  switch (outcome) {
    case ChangeOutcome::kDone:
      return "done";
    case ChangeOutcome::kTooLate:
      return "too late";
    case ChangeOutcome::kRefused:
      return "refused";
    case ChangeOutcome::kUnknownOrder:
      return "unknown order";
    case ChangeOutcome::kOverloaded:
      return "overloaded";
    case ChangeOutcome::kUnavailable:
      return "unavailable";
    case ChangeOutcome::kOutcomeUnknown:
      return "outcome unknown";
    case ChangeOutcome::kFailed:
      return "failed";
  }
  return "?";
}

}  // namespace rushgate
