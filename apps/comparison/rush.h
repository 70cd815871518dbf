// The rush that each strategy gets.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/sale/vouchers/voucher.h"

namespace rushgate::comparison {

/// Each of the users 1 to `users` clicks twice. Returns the user of each click, in order: the users
/// are shuffled by `seed`, and both clicks of a user follow each other.
std::vector<UserId> make_clicks(std::int64_t users, std::uint64_t seed);

}  // namespace rushgate::comparison
