// The subcommands of DEBUG on keys and values.
#pragma once

#include "engine/redis/commands/command_context.h"
#include <rushgate/reply.h>

namespace rushgate {

// DIGEST | DIGEST-VALUE [key ...]
Reply debug_digest(CommandContext& context);
Reply debug_digest_value(CommandContext& context);

// OBJECT key | SDSLEN key | LISTPACK key | QUICKLIST key [level]
Reply debug_object(CommandContext& context);
Reply debug_sdslen(CommandContext& context);
Reply debug_listpack(CommandContext& context);
Reply debug_quicklist(CommandContext& context);

// HTSTATS dbid | HTSTATS-KEY key
Reply debug_htstats(CommandContext& context);
Reply debug_htstats_key(CommandContext& context);

// POPULATE count [prefix] [size]
Reply debug_populate(CommandContext& context);

}  // namespace rushgate
