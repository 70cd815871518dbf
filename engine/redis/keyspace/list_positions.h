// The position of a list's element, as stored in the store.
#pragma once

#include <cstdint>

namespace rushgate {

/// Ascends from head to tail. It is part of the key of an element's record, and stays the same
/// while elements around it change (except in lists.cc: make_space()).
using ListPosition = std::uint64_t;

/// The distance between consecutively pushed elements. It leaves space for insertions between
/// them.
inline constexpr ListPosition kListStep = ListPosition{1} << 24;

}  // namespace rushgate
