// What this program holds of the heap: operator new and delete are replaced by ones that count.
#pragma once

#include <cstddef>

namespace rushgate {

/// Bytes of all blocks that were given and not taken back, each with what malloc adds to it.
std::size_t heap_bytes_held();

}  // namespace rushgate
