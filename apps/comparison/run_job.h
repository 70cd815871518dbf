// The child process of the comparison: a shop that sells by one strategy.
#pragma once

namespace rushgate::comparison {

/// Reads a job from stdin, does it, and reports on stdout (job.h). Throws what the strategy throws.
void run_job();

}  // namespace rushgate::comparison
