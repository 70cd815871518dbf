#include <algorithm>
#include <ostream>
#include <string>

#include "engine/core/base/concat.h"
#include <rushgate/testing_rush.h>

namespace rushgate::testing {
namespace {

constexpr std::size_t kShown = 5;  // entries of a list

std::string shown_counts(std::int64_t accepted, std::int64_t orders) {
  return concat(accepted, " accepted, ", orders, " orders");
}

void append_vouchers(const char* what, const std::vector<RushReport::VoucherFault>& faults,
                     std::string& text) {
  for (const auto& fault : faults) {
    const std::int64_t sold = std::max(fault.accepted, fault.orders);
    text += concat("  ", what, ": voucher ", fault.voucher, " by ",
                   std::max(sold - fault.stock, fault.stock - sold), " (stock ", fault.stock, "; ",
                   shown_counts(fault.accepted, fault.orders), ")\n");
  }
}

void append_users(const char* what, const std::vector<RushReport::UserFault>& faults,
                  std::string& text, bool shows_record = false) {
  const std::size_t shown = std::min(faults.size(), kShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& fault = faults[i];
    text += concat("  ", what, ": user ", fault.user, ", voucher ", fault.voucher, " (",
                   shown_counts(fault.accepted, fault.orders));
    if (fault.in_doubt > 0) text += concat(", ", fault.in_doubt, " in doubt");
    if (shows_record) text += concat(", ", fault.recorded, " recorded");
    text += ")\n";
  }
  if (faults.size() > shown) {
    text += concat("  ", what, ": and ", faults.size() - shown, " more\n");
  }
}

}  // namespace

bool RushReport::passed() const {
  return oversold.empty() && doubled.empty() && lost.empty() && unfounded.empty() &&
         blocked.empty() && unrecorded.empty() && too_early.empty() && withheld.empty() &&
         errors.empty();
}

std::string RushReport::text() const {
  std::string text =
      concat("the sale ", passed() ? "passed" : "failed", ", seed ", seed, ": ", requests,
             " requests, ", accepted, " accepted, ", refused, " refused, ", failed, " failed");
  if (restocked > 0) text += concat(", ", restocked, " pieces restocked");
  if (crashes > 0) {
    text += concat(", ", crashes, " crashes, ", replies_lost, " replies lost");
  }
  text += '\n';
  append_vouchers("oversold", oversold, text);
  append_users("doubled", doubled, text);
  append_users("lost", lost, text);
  append_users("order without a confirmation", unfounded, text);
  append_users("recorded as a buyer without an order", blocked, text, true);
  append_users("order without a record of its buyer", unrecorded, text, true);
  append_users("sold too early", too_early, text);
  append_vouchers("withheld", withheld, text);
  for (const std::string& error : errors) text += concat("  error: ", error, "\n");
  if (passed()) return text;
  for (const FrequentReply& frequent : replies) {
    text += concat("  ", frequent.times, " times ", std::string(rush_result_name(frequent.result)),
                   ": ", frequent.reply, "\n");
  }
  return text;
}

std::ostream& operator<<(std::ostream& out, const RushReport& report) {
  return out << report.text();
}

}  // namespace rushgate::testing
