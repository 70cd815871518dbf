// COPY: a value again, under another key.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "engine/keyspace/database.h"

namespace rushgate {

/// Makes what `from` holds, and when it expires, also `key` of `to`, where there must be nothing.
/// The store's error, with nothing done, if a stream cannot be read.
absl::Status copy_object(const Object& from, Database& to, std::string_view key);

}  // namespace rushgate
