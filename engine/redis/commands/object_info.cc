// Encodings of values: https://redis.io/docs/latest/commands/object-encoding/
#include <string_view>

#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/help_reply.h"
#include "engine/redis/keyspace/encodings.h"

namespace rushgate {
namespace {

Reply object_encoding_command(CommandContext& context) {
  const Object* const object = context.db().peek(context[2]);
  if (object == nullptr) return Reply::nil();
  return Reply::bulk(encoding_name(*object));
}

Reply object_refcount_command(CommandContext& context) {
  const Object* const object = context.db().peek(context[2]);
  return object == nullptr ? Reply::nil() : Reply::integer(reference_count(*object));
}

Reply object_idletime_command(CommandContext& context) {
  const Object* const object = context.db().peek(context[2]);
  if (object == nullptr) return Reply::nil();
  return Reply::integer(context.keyspace().use_clock().idle_s(object->last_use));
}

/// Frequencies are counted under policies for eviction, which are not there.
Reply object_freq_command(CommandContext& context) {
  return context.db().peek(context[2]) == nullptr ? Reply::nil() : errors::frequency_not_tracked();
}

Reply object_help_command(CommandContext&) {
  static constexpr std::string_view kLines[] = {
      "OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
      "ENCODING <key>",
      "    Return the kind of internal representation used in order to store the value",
      "    associated with a <key>.",
      "FREQ <key>",
      "    Return the access frequency index of the <key>. The returned integer is",
      "    proportional to the logarithm of the recent access frequency of the key.",
      "IDLETIME <key>",
      "    Return the idle time of the <key>, that is the approximated number of",
      "    seconds elapsed since the last access to the key.",
      "REFCOUNT <key>",
      "    Return the number of references of the value associated with the specified",
      "    <key>.",
      "HELP",
      "    Prints this help.",
  };
  return help_reply(kLines);
}

// ---- The records ----

constexpr CommandSpec kObjectCommands[] = {
    {.name = "object",
     .arity = -2,
     .flags = kContainer,
     .summary = "Describes the storage of values.",
     .since = "2.2.3",
     .complexity = "Depends on the subcommand."},
    {.name = "object|encoding",
     .function = object_encoding_command,
     .arity = 3,
     .flags = kReadOnly,
     .syntax = "key",
     .summary = "Returns the encoding of a value.",
     .since = "2.2.3",
     .complexity = "O(1)"},
    {.name = "object|freq",
     .function = object_freq_command,
     .arity = 3,
     .flags = kReadOnly,
     .syntax = "key",
     .summary = "Returns how often a key is used, if that is counted.",
     .since = "4.0.0",
     .complexity = "O(1)"},
    {.name = "object|idletime",
     .function = object_idletime_command,
     .arity = 3,
     .flags = kReadOnly,
     .syntax = "key",
     .summary = "Returns the seconds since a key was last used.",
     .since = "2.2.3",
     .complexity = "O(1)"},
    {.name = "object|refcount",
     .function = object_refcount_command,
     .arity = 3,
     .flags = kReadOnly,
     .syntax = "key",
     .summary = "Returns the number of references to a value.",
     .since = "2.2.3",
     .complexity = "O(1)"},
    help_record("object|help", object_help_command, "6.2.0"),
};

}  // namespace

CommandFamily object_commands() { return {CommandGroup::kGeneric, kObjectCommands}; }

}  // namespace rushgate
