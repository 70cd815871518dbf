// The form of a lock's owner: the field of Redisson's hashes.
#pragma once

#include <cstdint>
#include <string>

namespace rushgate {

inline std::string owner_name(const std::string& client_id, std::uint64_t caller) {
  return client_id + ':' + std::to_string(caller);
}

}  // namespace rushgate
