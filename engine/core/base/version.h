// The version of this library.
#pragma once

#include <string_view>

namespace rushgate {

/// Returns it as "0.1.0": the one in CMakeLists.txt.
std::string_view library_version();

}  // namespace rushgate
