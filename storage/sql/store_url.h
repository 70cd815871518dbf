// The options of a database's URL that are Rushgate's own.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace rushgate::sql {

struct OwnOptions {
  std::string rest;                          // the URL without them
  std::optional<std::string> password = {};  // from password_file
  std::size_t pool_size = 4;                 // 1 to 100
  std::chrono::milliseconds statement_timeout{10'000};
  std::optional<std::chrono::milliseconds> connect_timeout = {};
};

/// Takes password_file, pool_size, connect_timeout and statement_timeout_ms out of a URL, and reads the file:
/// its first line is the password. kInvalidArgument: one has no valid value.
absl::StatusOr<OwnOptions> take_own_options(std::string_view url);

struct UrlParts {
  std::string user = {};
  std::optional<std::string> password = {};
  std::string host = {};
  unsigned port = 0;  // 0: none
  std::string database = {};
  std::vector<std::pair<std::string, std::string>> options = {};
};

/// Reads scheme://user[:password]@[host[:port]]/database[?name=value&…]. "%XX" is decoded in each part. An
/// address of IPv6 stands in brackets.
/// kInvalidArgument: says which part is wrong, and never shows a password.
absl::StatusOr<UrlParts> parse_url(std::string_view url);

/// Returns a URL whose password, if it has one, is "x", percent-encoded or not. More is replaced if it is
/// not certain where the password ends.
std::string without_password(std::string_view url);

}  // namespace rushgate::sql
