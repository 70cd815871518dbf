#include "engine/core/base/concat.h"
#include "engine/sale/model/voucher_terms.h"
#include <rushgate/voucher.h>

namespace rushgate {

std::string find_fault(const Voucher& voucher) {
  if (voucher.id <= 0) return concat("id must be positive, not ", voucher.id);
  for (const VoucherTerm& term : kVoucherTerms) {
    const std::string fault = term.find_fault(term.get(voucher));
    if (!fault.empty()) return concat(term.subject, " ", fault);
  }
  if (voucher.end_ms <= voucher.begin_ms) return "end must lie after begin";
  if (voucher.payment_ms > 0 && voucher.price_cents == 0) {
    return "a time to pay needs a price";
  }
  if (voucher.waiting_max > 0 && voucher.waiting_max < voucher.lanes) {
    return concat("on ", voucher.lanes, " lanes, at least ", voucher.lanes,
                  " users may wait (waiting_max), or none");
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
