// Bounds on what commands take and make.
#pragma once

#include <cstddef>

namespace rushgate {

/// The longest string: Redis's proto-max-bulk-len, which cannot be changed here.
inline constexpr std::size_t kStringBytesMax = 512ULL * 1024 * 1024;

}  // namespace rushgate
