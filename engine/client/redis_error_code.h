// The codes of Redis's errors that callers tell apart: the first word of the reply. (Rushgate's own
// are in errors.h.)
#pragma once

#include <string_view>

namespace rushgate::redis_error_code {

inline constexpr std::string_view kNoScript = "NOSCRIPT";    // EVALSHA: nothing was done
inline constexpr std::string_view kWrongType = "WRONGTYPE";  // the key holds another kind of value

// ---- The server cannot now; nothing was done ----
inline constexpr std::string_view kBusy = "BUSY";              // a script runs for too long
inline constexpr std::string_view kMisconfigured = "MISCONF";  // it cannot write its snapshots
inline constexpr std::string_view kOutOfMemory = "OOM";
inline constexpr std::string_view kLoading = "LOADING";
inline constexpr std::string_view kTryAgain = "TRYAGAIN";  // a slot moves
inline constexpr std::string_view kReadOnly = "READONLY";  // it has become a replica
inline constexpr std::string_view kMasterDown = "MASTERDOWN";
inline constexpr std::string_view kClusterDown = "CLUSTERDOWN";
inline constexpr std::string_view kNoReplicas = "NOREPLICAS";  // fewer than min-replicas-to-write

}  // namespace rushgate::redis_error_code
