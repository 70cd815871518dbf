// Vouchers in a file: a JSON array of objects. docs/programs.md describes its fields.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/sale/vouchers/voucher.h"

namespace rushgate {

/// Reads a file and parses it by parse_vouchers(). Errors name the file. kNotFound: it does not
/// exist. kUnavailable: it is unreadable.
absl::StatusOr<std::vector<Voucher>> read_vouchers(const std::filesystem::path& file);

/// Parses the contents of a file. Errors use `name`. kInvalidArgument: the message is `<name>:
/// [index].field: <fault>`. An unknown field is a fault too: a mistyped limit must not be ignored.
absl::StatusOr<std::vector<Voucher>> parse_vouchers(std::string_view text, std::string_view name);

/// Returns the vouchers in the format that parse_vouchers() reads.
std::string format_vouchers(const std::vector<Voucher>& vouchers);

}  // namespace rushgate
