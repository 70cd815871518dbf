// Whose semantics these are.
#pragma once

namespace rushgate {

/// What clients and scripts are told: they choose by it what they send. (docs/differences.md)
inline constexpr const char* kRedisVersion = "7.0.15";

}  // namespace rushgate
