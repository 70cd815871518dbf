// Waiting on Boost.Fiber: backend.open_client({.wait = &fiber_wait()}) opens a client for fibers.
#pragma once

#include "engine/client/wait_method.h"

namespace rushgate {

/// Returns the method that suspends the calling fiber. Other fibers of its thread run meanwhile. A
/// plain thread has a main fiber, and may call such a client too.
const WaitMethod& fiber_wait();

}  // namespace rushgate
