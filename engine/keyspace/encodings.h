// Redis's encoding of a value.
#pragma once

#include <string_view>

#include "engine/keyspace/object.h"

namespace rushgate {

/// Returns the reply of OBJECT ENCODING: "int", "embstr", "raw", "listpack", "hashtable", …
std::string_view encoding_name(const Object& object);

}  // namespace rushgate
