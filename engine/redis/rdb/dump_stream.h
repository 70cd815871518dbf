// DUMP of a stream (parsed_stream.h has the format).
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "engine/redis/keyspace/stream.h"

namespace rushgate::rdb {

/// Appends a stream to a payload. Returns the store's error, or kResourceExhausted if the payload
/// exceeds `bytes_max`.
absl::Status write_stream(const Stream& stream, const EncodingLimits& limits, std::size_t bytes_max,
                          std::string& payload);

}  // namespace rushgate::rdb
