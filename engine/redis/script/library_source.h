// Parses the first line `#!lua name=…` of a function library. Semantics:
// https://redis.io/docs/latest/develop/interact/programmability/functions-intro/
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <rushgate/reply.h>

namespace rushgate {

struct LibrarySource {
  std::string name;
  std::string_view code;  // all of it
  /// The code from the end of the first line on, so that line numbers stay the same.
  std::string_view body;
};

/// Returns empty and sets `error` if the line is invalid. Views into `code` remain in the result.
std::optional<LibrarySource> parse_library(std::string_view code, Reply& error);

/// Returns true if a library or a function may have this name.
bool is_function_name(std::string_view name);

}  // namespace rushgate
