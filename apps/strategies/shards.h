// The shards over which strategies divide the voucher.
#pragma once

#include <cstdint>

#include <rushgate/order_rules.h>

namespace rushgate::strategies {

inline constexpr int kShards = 4;

/// Returns the shard on which a user buys, from 0: the lane of Rushgate's sale.
inline int shard_of(std::int64_t user) { return lane_of_user(user, kShards); }

}  // namespace rushgate::strategies
