// The rush that every strategy gets.
#pragma once

#include <cstdint>
#include <vector>

#include <rushgate/voucher.h>

namespace rushgate::comparison {

/// Returns the user of each click, in order. Each of the users 1 to `users` clicks twice, one click
/// after the other. `seed` shuffles the users.
std::vector<std::int64_t> make_clicks(std::int64_t users, std::uint64_t seed);

}  // namespace rushgate::comparison
