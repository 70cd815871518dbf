// Whole files as strings.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace rushgate {

/// Returns the contents. An error is kNotFound or kInvalidArgument, and names the file.
absl::StatusOr<std::string> read_file(const std::filesystem::path& file);

/// Writes the whole file or nothing. It is on disk when the call returns.
absl::Status write_file(const std::filesystem::path& file, std::string_view text);

/// Returns a hash that identifies the contents: 32 hexadecimal digits (XXH3, 128 bits).
std::string content_hash(std::string_view text);

}  // namespace rushgate
