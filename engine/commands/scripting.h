// The running script: https://redis.io/docs/latest/commands/script-kill/
#pragma once

#include <rushgate/reply.h>

namespace rushgate {

struct CommandServices;

/// Lets the script beyond its time limit end at its next check, as SCRIPT KILL does. Returns an
/// error if there is none, or if it has written.
Reply kill_running_script(const CommandServices& services);

}  // namespace rushgate
