// How Redis would keep a value in memory.
#pragma once

#include <string_view>

#include "engine/keyspace/encoding_limits.h"
#include "engine/keyspace/object.h"

namespace rushgate {

/// What OBJECT ENCODING answers: "int", "embstr", "raw", "listpack", "hashtable", …
std::string_view encoding_name(const Object& object, const EncodingLimits& limits);

}  // namespace rushgate
