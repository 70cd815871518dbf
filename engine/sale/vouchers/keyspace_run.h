// Which run of the keyspace this is, where a run ends with the process: on the embedded engine.
#pragma once

#include <string_view>

#include "engine/client/native_script.h"
#include "engine/client/script.h"

namespace rushgate {

/// Answers the name of the run: a new one each time an engine is opened with its native twin; empty
/// wherever the text runs (on Redis), whose runs say nothing about the processes that use it. The
/// one script whose twin differs from its text, on purpose.
const Script& keyspace_run_script();
NativeScript native_keyspace_run();
inline constexpr std::string_view kNativeKeyspaceRun = "rushgate.keyspace_run";

}  // namespace rushgate
