// The digests of DEBUG DIGEST, byte for byte as Redis computes them from the same data.
//
// A digest is 20 bytes. Bytes enter it in two ways: their SHA-1 is combined with it by exclusive
// or (add), so that the order has no effect; or the result is hashed once more (mix), so that it
// has.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "engine/redis/keyspace/keyspace.h"

namespace rushgate {

/// Returns the digest of a value with its expiry, in hexadecimal. Fails if a stream cannot be
/// read.
absl::StatusOr<std::string> value_digest(const Object& object);

/// Returns the digest of a missing value, or of an empty keyspace.
std::string empty_digest();

/// Returns the digest of all databases. Fails if a stream cannot be read.
absl::StatusOr<std::string> keyspace_digest(Keyspace& keyspace);

}  // namespace rushgate
