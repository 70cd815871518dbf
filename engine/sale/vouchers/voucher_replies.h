// What the scripts of vouchers return, and the errors that follow.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/client.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// Returns "voucher <id>".
std::string voucher_name(VoucherId id);
/// Returns the kAborted error of a voucher that another process rebuilds.
absl::Status being_rebuilt(VoucherId id);
/// Returns the kNotFound error of a voucher that has no version in force.
absl::Status not_on_sale(VoucherId id);

/// Returns why a version is refused of which `missing` more pieces were sold than it has.
std::string describe_lack_of_stock(const Voucher& voucher, std::int64_t missing);

/// Returns a script's reply: an outcome (voucher_scripts.h), and its numbers.
absl::StatusOr<std::vector<std::int64_t>> read_voucher_result(const Reply& reply,
                                                              std::string_view doing);
/// Returns only the outcome.
absl::StatusOr<std::int64_t> read_voucher_outcome(const Reply& reply, std::string_view doing);

/// Returns views of names or arguments, for Client::run().
std::vector<std::string_view> as_views(const std::vector<std::string>& strings);

}  // namespace rushgate
