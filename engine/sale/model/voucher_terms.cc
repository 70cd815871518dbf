#include "engine/sale/model/voucher_terms.h"

#include <algorithm>
#include <cstddef>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include <rushgate/order_rules.h>

namespace rushgate {
namespace {

// The fields of a voucher on several lanes, whose `published` is a share.
constexpr std::string_view kLanes = "lanes";
constexpr std::string_view kWholeStock = "whole";

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

void append_terms(const VoucherVersion& version, int lane, std::vector<std::string>& arguments) {
  for (const TermField& term : term_fields(on_lane(version, lane))) {
    arguments.emplace_back(term.field);
    arguments.push_back(std::to_string(term.value));
  }
  if (version.voucher.lanes <= 1) return;
  arguments.insert(arguments.end(),
                   {std::string(kLanes), std::to_string(version.voucher.lanes),
                    std::string(kWholeStock), std::to_string(version.voucher.stock)});
}

std::optional<VoucherVersion> read_terms(
    std::span<const std::pair<std::string, std::string>> fields) {
  VoucherVersion version;
  std::optional<std::int64_t> whole;
  for (const auto& [name, value] : fields) {
    const auto number = parse_int64(value);
    if (!number) continue;
    if (name == "version") version.version = *number;
    if (name == kLanes) version.voucher.lanes = static_cast<std::int32_t>(*number);
    if (name == kWholeStock) whole = *number;
    for (const VoucherTerm& term : kVoucherTerms) {
      if (!term.field.empty() && term.field == name) term.set(version.voucher, *number);
    }
  }
  if (version.version == 0) return std::nullopt;
  version.voucher.stock = whole.value_or(version.voucher.stock);
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
