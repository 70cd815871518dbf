// Everything that a keyspace holds, as a string.
#pragma once

#include <string>

#include "tests/conformance/backend.h"

namespace rushgate::testing {

/// Returns a line for each key, in order: its name, type, time to live and value. What has no order
/// is sorted.
std::string dump_keyspace(Backend& backend);

}  // namespace rushgate::testing
