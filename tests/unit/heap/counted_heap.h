// Counts the heap of this program: replaces operator new and delete.
#pragma once

#include <cstddef>

namespace rushgate {

/// Returns the bytes of all blocks in use, each with the overhead of malloc.
std::size_t heap_bytes_held();

}  // namespace rushgate
