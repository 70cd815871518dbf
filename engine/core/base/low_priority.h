// Work that gives way to other threads.
#pragma once

#include "absl/functional/function_ref.h"

namespace rushgate {

/// Runs `work` on a thread of its own, which gets a small share of a processor and of the disk beside
/// busy threads, and waits for its end. If none can be started, it runs on this one. `work` must hold no
/// lock for which others wait. Rethrows its exception.
void run_at_low_priority(absl::FunctionRef<void()> work);

}  // namespace rushgate
