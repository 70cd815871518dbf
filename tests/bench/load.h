// The load that most lines of rush_bench put on both sides.
#pragma once

namespace rushgate::bench {

inline constexpr int kBatch = 1'000;  // purchases in one call
inline constexpr int kThreads = 8;
inline constexpr int kFibers = 1'000;

inline constexpr double kMicroseconds = 1e6;  // in a second

}  // namespace rushgate::bench
