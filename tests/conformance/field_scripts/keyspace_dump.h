// The contents of a keyspace as a string.
#pragma once

#include <string>

#include "tests/conformance/backend.h"

namespace rushgate::testing {

/// Returns one line per key, sorted: its name, type, time to live and value. Unordered values are
/// sorted.
std::string dump_keyspace(Backend& backend);

}  // namespace rushgate::testing
