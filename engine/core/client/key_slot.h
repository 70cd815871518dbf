// The slot of a key in a Redis Cluster:
// https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#key-distribution-model
#pragma once

#include <cstdint>
#include <string_view>

namespace rushgate {

inline constexpr int kSlots = 16'384;

/// Returns the slot of a key, from 0 to kSlots - 1. If the key has a hash tag, that is a part between
/// "{" and the next "}" which is not empty, the tag alone decides.
int key_slot(std::string_view key);

}  // namespace rushgate
