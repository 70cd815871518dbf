// The child process of the comparison: a shop that uses one strategy.
#pragma once

namespace rushgate::comparison {

/// Reads a job from stdin, runs it, and reports on stdout (job.h). Returns false if it fails.
bool run_job();

}  // namespace rushgate::comparison
