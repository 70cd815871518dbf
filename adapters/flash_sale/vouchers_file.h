// Vouchers in a file: a JSON array of objects. docs/programs.md describes its fields.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/sale/vouchers/voucher.h"

namespace rushgate {

/// Reads a file for parse_vouchers(), and names it in errors. kNotFound: there is no such file.
/// kUnavailable: it cannot be read.
absl::StatusOr<std::vector<Voucher>> read_vouchers(const std::filesystem::path& file);

/// Parses the contents of a file. `name` is the file's in messages. kInvalidArgument, with a message
/// of the form `<name>: [index].field: <fault>`. Unknown fields are faults too: a mistyped limit must
/// not become no limit.
absl::StatusOr<std::vector<Voucher>> parse_vouchers(std::string_view text, std::string_view name);

/// Returns the vouchers in the format that parse_vouchers() reads.
std::string format_vouchers(const std::vector<Voucher>& vouchers);

}  // namespace rushgate
