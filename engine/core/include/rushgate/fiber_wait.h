// Waiting with Boost.Fiber: backend.open_client({.wait = &fiber_wait()}) opens a client for fibers.
#pragma once

#include <rushgate/client.h>

namespace rushgate {

/// Returns the method that suspends the calling fiber while other fibers of its thread run. A plain
/// thread may use such a client too: Boost.Fiber gives it a main fiber.
const WaitMethod& fiber_wait();

}  // namespace rushgate
