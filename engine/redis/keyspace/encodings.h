// Redis's encoding of a value.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/redis/keyspace/object.h"

namespace rushgate {

/// Returns the reply of OBJECT ENCODING: "int", "embstr", "raw", "listpack", "hashtable", …
std::string_view encoding_name(const Object& object);

/// Returns the reply of OBJECT REFCOUNT: 1, or 2^31 - 1 for the small integers that Redis shares.
std::int64_t reference_count(const Object& object);

}  // namespace rushgate
