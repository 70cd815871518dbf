// The run of a keyspace that ends with its process: on the embedded engine.
#pragma once

#include <string_view>

#include <rushgate/script.h>

namespace rushgate {

/// Returns the script that names the run. The native implementation returns a new name each time an
/// engine is opened. The Lua script (on Redis) returns an empty one: a server's runs say nothing
/// about the processes that use it. Only in this script do the two differ, on purpose.
const Script& keyspace_run_script();
NativeScript native_keyspace_run();
inline constexpr std::string_view kNativeKeyspaceRun = "rushgate.keyspace_run";

}  // namespace rushgate
