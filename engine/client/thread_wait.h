// Waiting on plain threads: what a client does whose ClientOptions::wait is null.
#pragma once

#include "engine/client/wait_method.h"

namespace rushgate {

/// Returns the method that puts the calling thread to sleep.
const WaitMethod& thread_wait();

/// Returns the method that ClientOptions::wait stands for: `*chosen`, or thread_wait() if it is null.
const WaitMethod& wait_method(const WaitMethod* chosen);

}  // namespace rushgate
