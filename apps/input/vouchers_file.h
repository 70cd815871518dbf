// The vouchers of a replay: a JSON array of objects. Its fields: docs/programs.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/sale/vouchers/voucher.h"

namespace rushgate {

/// kInvalidArgument: `<name>: [index].field: what is wrong`. Unknown fields are wrong, too: a
/// mistyped limit must not become no limit.
absl::StatusOr<std::vector<Voucher>> parse_vouchers(std::string_view text, std::string_view name);

/// What parse_vouchers() reads.
std::string format_vouchers(const std::vector<Voucher>& vouchers);

}  // namespace rushgate
