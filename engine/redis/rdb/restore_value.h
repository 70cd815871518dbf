// RESTORE: creates a value.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "engine/redis/keyspace/database.h"
#include "engine/redis/rdb/parsed_value.h"

namespace rushgate::rdb {

/// Creates the value at the free key `key`, in the encoding that Redis gives it. A stream can fail
/// with the store's error: the caller must roll back then.
absl::Status restore(Database& db, std::string_view key, const ParsedValue& value);

}  // namespace rushgate::rdb
