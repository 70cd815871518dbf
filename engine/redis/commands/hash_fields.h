// Parts of commands on the fields of a hash.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include <rushgate/reply.h>

namespace rushgate {

/// Returns the value of `field`; nil if there is no such field or no hash.
Reply field_reply(Object* hash, std::string_view field);

/// Reads `FIELDS numfields`. Latches an error unless that many arguments follow, which are the
/// fields; `not_positive` if the number is not one.
void expect_fields(Arguments& arguments, Reply not_positive);

/// Removes a field, if it exists. Sets `hash` to null if that removes the key.
bool remove_field(CommandContext& context, Object*& hash, std::string_view field);

}  // namespace rushgate
