// The flags of scripts and functions:
// https://redis.io/docs/latest/develop/programmability/lua-api/#script_flags
#pragma once

#include <string_view>

namespace rushgate {

/// Declared in a script's first line (`#!lua flags=no-writes,allow-oom`), or when a function is
/// registered.
struct ScriptFlags {
  bool declared = false;  // the script has such a line; always true for a function
  bool no_writes = false;
  bool allow_oom = false;
  bool allow_stale = false;
  bool no_cluster = false;
  bool allow_cross_slot_keys = false;
};

struct NamedScriptFlag {
  std::string_view name;
  bool ScriptFlags::*member;
};

/// In the order in which FUNCTION LIST returns them.
inline constexpr NamedScriptFlag kScriptFlags[] = {
    {"no-writes", &ScriptFlags::no_writes},
    {"allow-oom", &ScriptFlags::allow_oom},
    {"allow-stale", &ScriptFlags::allow_stale},
    {"no-cluster", &ScriptFlags::no_cluster},
    {"allow-cross-slot-keys", &ScriptFlags::allow_cross_slot_keys},
};

}  // namespace rushgate
