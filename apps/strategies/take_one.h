// The database's part of a purchase, as most systems have it. Several strategies put a lock around it.
#pragma once

#include "apps/strategies/strategy.h"

namespace rushgate::strategies {

/// Sells one if there is stock and the user has none. The stock cannot sink below zero. Two calls for
/// one user at the same time may both find no order, and both make one.
Answer take_one(Desk& desk, UserId user);

}  // namespace rushgate::strategies
