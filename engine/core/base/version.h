// The versions that programs and clients are told.
#pragma once

#include <string_view>

namespace rushgate {

/// Returns the version of this library, as "0.1.0": the one in CMakeLists.txt.
std::string_view library_version();

/// The version of Redis that the engine reproduces. Reported to clients and scripts, which choose
/// their commands by it. (docs/differences.md)
inline constexpr const char* kRedisVersion = "7.0.15";

}  // namespace rushgate
