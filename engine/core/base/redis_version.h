// The version of Redis that the engine reproduces.
#pragma once

namespace rushgate {

/// Reported to clients and scripts, which choose their commands by it. (docs/differences.md)
inline constexpr const char* kRedisVersion = "7.0.15";

}  // namespace rushgate
