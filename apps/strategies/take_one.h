// The database's part of a purchase. Several strategies put a lock around it.
#pragma once

#include "apps/strategies/strategy.h"

namespace rushgate::strategies {

/// Sells one if there is stock and the user has none. The stock cannot sink below zero. Two calls for
/// one user at the same time may both find no order, and both make one.
Answer take_one(Desk& desk, UserId user);

/// Sells one if there is stock and the user has none. Right only if no other call runs meanwhile: it
/// writes the stock that it has read, less one.
Answer take_one_alone(Desk& desk, UserId user);

}  // namespace rushgate::strategies
