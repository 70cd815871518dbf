// Codes (first words) of Redis's errors that callers distinguish. Rushgate's own codes are in
// <rushgate/reply.h>.
#pragma once

#include <string_view>

namespace rushgate::redis_error_code {

inline constexpr std::string_view kNoScript = "NOSCRIPT";    // EVALSHA: the script did not run
inline constexpr std::string_view kWrongType = "WRONGTYPE";  // the key holds another kind of value
inline constexpr std::string_view kNoPermission =
    "NOPERM";                                        // of the user: a command, key or channel
inline constexpr std::string_view kMoved = "MOVED";  // the slot is on another cluster node
inline constexpr std::string_view kAsk = "ASK";      // this request's keys are on another one
inline constexpr std::string_view kCrossSlot = "CROSSSLOT";  // the keys are in several slots

// ---- Temporary refusals; the command did not run ----
inline constexpr std::string_view kBusy = "BUSY";              // a script runs for too long
inline constexpr std::string_view kMisconfigured = "MISCONF";  // it cannot write its snapshots
inline constexpr std::string_view kOutOfMemory = "OOM";
inline constexpr std::string_view kLoading = "LOADING";
inline constexpr std::string_view kTryAgain = "TRYAGAIN";  // a cluster slot is being moved
inline constexpr std::string_view kReadOnly = "READONLY";  // the server is a replica now
inline constexpr std::string_view kMasterDown = "MASTERDOWN";
inline constexpr std::string_view kClusterDown = "CLUSTERDOWN";
inline constexpr std::string_view kNoReplicas = "NOREPLICAS";  // fewer than min-replicas-to-write
inline constexpr std::string_view kUnblocked = "UNBLOCKED";    // it waited, and the server changed

}  // namespace rushgate::redis_error_code
