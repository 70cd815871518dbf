// The database part of a purchase. Several strategies put a lock around it.
#pragma once

#include "apps/strategies/strategy.h"

namespace rushgate::strategies {

/// Sells one if there is stock and the user has none. The stock cannot sink below zero. Two
/// concurrent calls for one user may both find no order, and both create one.
Decision take_one(Desk& desk, std::int64_t user);

/// Sells one if there is stock and the user has none. Correct only if no other call runs meanwhile:
/// it writes back the stock that it has read, less one.
Decision take_one_alone(Desk& desk, std::int64_t user);

}  // namespace rushgate::strategies
