// Whole files as strings.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace rushgate {

/// kNotFound or kInvalidArgument, naming the file, if it cannot be read.
absl::StatusOr<std::string> read_file(const std::filesystem::path& file);

/// All of it or nothing, and on the disk when it returns.
absl::Status write_file(const std::filesystem::path& file, std::string_view text);

/// Tells one file's bytes from another's: 32 hexadecimal digits (XXH3, 128 bits).
std::string content_hash(std::string_view text);

}  // namespace rushgate
