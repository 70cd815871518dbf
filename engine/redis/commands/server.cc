// Commands about the server as a whole: https://redis.io/docs/latest/commands/?group=server
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/version.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"

namespace rushgate {
namespace {

/// Accepts [ASYNC | SYNC], which has no effect here.
bool flush_options_ok(const CommandContext& context) {
  Arguments arguments(context.request());
  if (arguments.at_end()) return true;
  return (arguments.accept("ASYNC") || arguments.accept("SYNC")) && arguments.at_end();
}

/// Parses an int. The database need not exist.
std::optional<std::int64_t> parse_database(std::string_view text) {
  const auto index = parse_int64(text);
  if (!index || *index < std::numeric_limits<int>::min() ||
      *index > std::numeric_limits<int>::max()) {
    return std::nullopt;
  }
  return index;
}

Reply time_command(CommandContext& context) {
  const std::int64_t now_ms = context.now_ms();
  std::vector<Reply> seconds_and_microseconds;
  seconds_and_microseconds.push_back(Reply::bulk(DecimalText(now_ms / 1000)));
  seconds_and_microseconds.push_back(Reply::bulk(DecimalText(now_ms % 1000 * 1000)));
  return Reply::array(std::move(seconds_and_microseconds));
}

/// Checks what Redis's drawings take, and draws nothing.
Reply lolwut_command(CommandContext& context) {
  Arguments arguments(context.request());
  if (arguments.left() > 1 && arguments.accept("VERSION")) {
    const std::int64_t version = arguments.next_integer();
    const std::size_t numbers = version == 5 ? 3 : version == 6 ? 2 : 0;
    for (std::size_t i = 0; i < numbers && !arguments.at_end(); ++i) arguments.next_integer();
  }
  if (!arguments.ok()) return arguments.take_error();
  static const std::string kText = concat("txt:Redis ver. ", kRedisVersion, "\n");
  return Reply::verbatim(kText);
}

Reply dbsize_command(CommandContext& context) {
  return Reply::integer(static_cast<std::int64_t>(context.db().size()));
}

Reply flushdb_command(CommandContext& context) {
  if (!flush_options_ok(context)) return errors::syntax();
  context.db().remove_all();
  return Reply::ok();
}

Reply flushall_command(CommandContext& context) {
  if (!flush_options_ok(context)) return errors::syntax();
  context.keyspace().remove_all();
  return Reply::ok();
}

Reply swapdb_command(CommandContext& context) {
  const auto first = parse_database(context[1]);
  if (!first) return errors::invalid_first_database();
  const auto second = parse_database(context[2]);
  if (!second) return errors::invalid_second_database();
  for (const std::int64_t index : {*first, *second}) {
    if (index < 0 || index >= static_cast<std::int64_t>(Keyspace::kDatabases))
      return errors::no_such_database();
  }
  Keyspace& keyspace = context.keyspace();
  keyspace.db(static_cast<std::size_t>(*first))
      .swap(keyspace.db(static_cast<std::size_t>(*second)));
  return Reply::ok();
}

// ---- The records ----

constexpr CommandSpec kServerCommands[] = {
    {.name = "time",
     .function = time_command,
     .arity = 1,
     .flags = kAnytime | kFast,
     .summary = "Returns the time: seconds since 1970, and microseconds.",
     .since = "2.6.0",
     .complexity = "O(1)"},
    {.name = "lolwut",
     .function = lolwut_command,
     .arity = -1,
     .flags = kReadOnly | kFast,
     .syntax = "[VERSION version [number [number ...]]]",
     .summary = "Returns the version of Redis that the engine is like.",
     .since = "5.0.0",
     .complexity = "O(1)"},
    {.name = "dbsize",
     .function = dbsize_command,
     .arity = 1,
     .flags = kReadOnly | kFast | kAclKeyspace,
     .summary = "Counts the keys of the database.",
     .since = "1.0.0",
     .complexity = "O(1)"},
    {.name = "flushdb",
     .function = flushdb_command,
     .arity = -1,
     .flags = kWrite | kAclKeyspace | kAclDangerous,
     .syntax = "[ASYNC | SYNC]",
     .summary = "Removes all keys of the database.",
     .since = "1.0.0",
     .complexity = "O(N), N keys of the database"},
    {.name = "flushall",
     .function = flushall_command,
     .arity = -1,
     .flags = kWrite | kAclKeyspace | kAclDangerous,
     .syntax = "[ASYNC | SYNC]",
     .summary = "Removes all keys of all databases.",
     .since = "1.0.0",
     .complexity = "O(N), N keys of all databases"},
    {.name = "swapdb",
     .function = swapdb_command,
     .arity = 3,
     .flags = kWrite | kFast | kAclKeyspace | kAclDangerous,
     .syntax = "index1 index2",
     .summary = "Swaps two databases.",
     .since = "4.0.0",
     .complexity = "O(N), N clients that watch or block on keys of the two"},
};

}  // namespace

CommandFamily server_commands() { return {CommandGroup::kServer, kServerCommands}; }

}  // namespace rushgate
