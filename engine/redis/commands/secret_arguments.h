// Arguments that must not appear in logs.
#pragma once

#include <cstddef>
#include <string_view>

#include <rushgate/request.h>

namespace rushgate {

/// Shown instead of a secret argument.
inline constexpr std::string_view kRedacted = "(redacted)";

/// Returns true if the argument at `position` is a user or a password, as Redis hides them.
bool is_secret(RequestView request, std::size_t position);

}  // namespace rushgate
