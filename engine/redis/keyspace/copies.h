// COPY: copies a value to another key.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "engine/redis/keyspace/database.h"

namespace rushgate {

/// Copies the value and expiry of `from` to the free key `key` of `to`. Returns the store's error,
/// with no changes, if a stream cannot be read.
absl::Status copy_object(const Object& from, Database& to, std::string_view key);

}  // namespace rushgate
