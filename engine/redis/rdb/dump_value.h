// DUMP: writes a value.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "engine/redis/keyspace/object.h"

namespace rushgate::rdb {

/// Returns the payload of a value, in the encoding that Redis would give it with these limits. Reading a stream can
/// fail with the store's error, and with kResourceExhausted if the payload exceeds `bytes_max`:
/// streams may be larger than memory.
absl::StatusOr<std::string> dump(const Object& object, const EncodingLimits& limits,
                                 std::size_t bytes_max);

}  // namespace rushgate::rdb
