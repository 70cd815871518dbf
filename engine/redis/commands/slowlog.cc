// SLOWLOG: https://redis.io/docs/latest/commands/slowlog-get/
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/base/numbers.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/help_reply.h"
#include "engine/redis/commands/slowlog_entries.h"

namespace rushgate {
namespace {

Reply entry_reply(const SlowlogEntry& entry) {
  std::vector<Reply> arguments;
  arguments.reserve(entry.arguments.size());
  for (const std::string& argument : entry.arguments) arguments.push_back(Reply::bulk(argument));
  return Reply::array({Reply::integer(entry.id), Reply::integer(entry.time_s),
                       Reply::integer(entry.duration_us), Reply::array(std::move(arguments)),
                       Reply::bulk(entry.address), Reply::bulk(entry.name)});
}

Reply slowlog_get_command(CommandContext& context) {
  constexpr std::int64_t kDefaultCount = 10;
  constexpr std::int64_t kAll = -1;
  constexpr std::size_t kArgumentsMax = 3;
  if (context.size() > kArgumentsMax)
    return errors::unknown_subcommand_or_arity("SLOWLOG", context[1]);
  const std::optional<std::int64_t> count =
      context.size() < kArgumentsMax ? kDefaultCount : parse_int64(context[2]);
  if (!count || *count < kAll)
    return Reply::error("ERR count should be greater than or equal to -1");

  const std::deque<SlowlogEntry>& entries = context.services().slowlog.entries();
  std::size_t left = entries.size();
  if (*count != kAll) left = std::min(left, static_cast<std::size_t>(*count));
  std::vector<Reply> replies;
  replies.reserve(left);
  for (std::size_t i = 0; i < left; ++i) replies.push_back(entry_reply(entries[i]));
  return Reply::array(std::move(replies));
}

Reply slowlog_len_command(CommandContext& context) {
  return Reply::integer(static_cast<std::int64_t>(context.services().slowlog.entries().size()));
}

Reply slowlog_reset_command(CommandContext& context) {
  context.services().slowlog.clear();
  return Reply::ok();
}

Reply slowlog_help_command(CommandContext&) {
  static constexpr std::string_view kLines[] = {
      "SLOWLOG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
      "GET [<count>]",
      "    Return top <count> entries from the slowlog (default: 10, -1 mean all).",
      "    Entries are made of:",
      "    id, timestamp, time in microseconds, arguments array, client IP and port,",
      "    client name",
      "LEN",
      "    Return the length of the slowlog.",
      "RESET",
      "    Reset the slowlog.",
      "HELP",
      "    Prints this help.",
  };
  return help_reply(kLines);
}

// ---- The records ----

constexpr CommandSpec kSlowlogCommands[] = {
    {.name = "slowlog",
     .arity = -2,
     .flags = kContainer,
     .summary = "Manages the log of slow commands.",
     .since = "2.2.12",
     .complexity = "Depends on the subcommand."},
    {.name = "slowlog|get",
     .function = slowlog_get_command,
     .arity = -2,
     .flags = kAdmin | kAnytime,
     .syntax = "[count]",
     .summary = "Returns the newest entries.",
     .since = "2.2.12",
     .complexity = "O(N), N entries returned"},
    help_record("slowlog|help", slowlog_help_command, "6.2.0"),
    {.name = "slowlog|len",
     .function = slowlog_len_command,
     .arity = 2,
     .flags = kAdmin | kAnytime,
     .summary = "Returns the number of entries.",
     .since = "2.2.12",
     .complexity = "O(1)"},
    {.name = "slowlog|reset",
     .function = slowlog_reset_command,
     .arity = 2,
     .flags = kAdmin | kAnytime,
     .summary = "Removes all entries.",
     .since = "2.2.12",
     .complexity = "O(N), N entries"},
};

}  // namespace

CommandFamily slowlog_commands() { return {CommandGroup::kServer, kSlowlogCommands}; }

}  // namespace rushgate
