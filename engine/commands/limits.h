// Bounds on arguments and results of commands.
#pragma once

#include <cstddef>

namespace rushgate {

/// The maximum length of a string: Redis's proto-max-bulk-len, fixed here.
inline constexpr std::size_t kStringBytesMax = 512ULL * 1024 * 1024;

}  // namespace rushgate
