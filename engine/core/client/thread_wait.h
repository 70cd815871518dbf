// Waiting on plain threads: the default of ClientOptions::wait.
#pragma once

#include <rushgate/client.h>

namespace rushgate {

/// Returns the method that puts the calling thread to sleep.
const WaitMethod& thread_wait();

/// Returns `*chosen`, or thread_wait() if it is null.
const WaitMethod& wait_method(const WaitMethod* chosen);

}  // namespace rushgate
