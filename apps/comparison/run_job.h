// The child process of the comparison: a shop that uses one strategy.
#pragma once

namespace rushgate::comparison {

/// Reads a job from stdin, runs it, and reports on stdout (job.h). Exceptions of the strategy
/// propagate.
void run_job();

}  // namespace rushgate::comparison
