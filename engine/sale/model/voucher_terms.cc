#include "engine/sale/model/voucher_terms.h"

#include <algorithm>
#include <cstddef>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include <rushgate/order_rules.h>

namespace rushgate {
namespace {

// The fields of a voucher on several lanes. Of these terms, a lane has a share, or none.
constexpr std::string_view kLanes = "lanes";
constexpr std::string_view kWholeStock = "whole";
constexpr std::string_view kWholeTotal = "whole_total";
constexpr std::string_view kWholeWaiting = "whole_waiting";

}  // namespace

std::vector<TermField> term_fields(const VoucherVersion& version) {
  std::vector<TermField> fields = {
      {.name = "version", .field = "version", .value = version.version}};
  for (const VoucherTerm& term : kVoucherTerms) {
    if (term.field.empty()) continue;
    fields.push_back({.name = term.name,
                      .field = term.field,
                      .value = term.get(version.voucher),
                      .absent = term.absent,
                      .is_newer = term.is_newer});
  }
  return fields;
}

void append_terms(const VoucherVersion& version, const VoucherVersion& here,
                  std::vector<std::string>& arguments) {
  for (const TermField& term : term_fields(here)) {
    arguments.emplace_back(term.field);
    arguments.push_back(std::to_string(term.value));
  }
  const Voucher& whole = version.voucher;
  if (whole.lanes <= 1) return;
  arguments.insert(
      arguments.end(),
      {std::string(kLanes), std::to_string(whole.lanes), std::string(kWholeStock),
       std::to_string(whole.stock), std::string(kWholeTotal), std::to_string(whole.limits.total),
       std::string(kWholeWaiting), std::to_string(whole.waiting_max)});
}

std::optional<VoucherVersion> read_terms(
    std::span<const std::pair<std::string, std::string>> fields) {
  VoucherVersion version;
  Voucher& voucher = version.voucher;
  std::optional<std::int64_t> stock;
  std::optional<std::int64_t> total;
  std::optional<std::int64_t> waiting_max;
  for (const auto& [name, value] : fields) {
    const auto number = parse_int64(value);
    if (!number) continue;
    if (name == "version") version.version = *number;
    if (name == kLanes) voucher.lanes = static_cast<std::int32_t>(*number);
    if (name == kWholeStock) stock = *number;
    if (name == kWholeTotal) total = *number;
    if (name == kWholeWaiting) waiting_max = *number;
    for (const VoucherTerm& term : kVoucherTerms) {
      if (!term.field.empty() && term.field == name) term.set(voucher, *number);
    }
  }
  if (version.version == 0) return std::nullopt;
  voucher.stock = stock.value_or(voucher.stock);
  voucher.limits.total = total.value_or(voucher.limits.total);
  voucher.waiting_max = waiting_max.value_or(voucher.waiting_max);
  return version;
}

std::string find_differences(const VoucherVersion& version,
                             std::span<const std::optional<std::int64_t>> there) {
  const std::vector<TermField> here = term_fields(version);
  std::string differences;
  for (std::size_t i = 0; i < std::min(here.size(), there.size()); ++i) {
    // A voucher with a payment was never without a price.
    const bool may_differ = here[i].is_newer && version.voucher.payment_ms == 0;
    const std::int64_t value = there[i].value_or(may_differ ? here[i].value : here[i].absent);
    if (value == here[i].value) continue;
    if (!differences.empty()) differences += "; ";
    differences += concat(here[i].name, " ", value, " there, ", here[i].value, " here");
  }
  return differences;
}

}  // namespace rushgate
