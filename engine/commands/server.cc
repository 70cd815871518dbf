// Commands about the server as a whole: https://redis.io/docs/latest/commands/?group=server
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/base/numbers.h"
#include "engine/commands/arguments.h"
#include "engine/commands/command_context.h"
#include "engine/commands/command_functions.h"
#include "engine/commands/errors.h"

namespace rushgate {
namespace {

/// [ASYNC | SYNC]: taken, and without a meaning here.
bool flush_options_ok(const CommandContext& context) {
  Arguments arguments(context.request());
  if (arguments.at_end()) return true;
  return (arguments.accept("ASYNC") || arguments.accept("SYNC")) && arguments.at_end();
}

}  // namespace

// TIME
Reply time_command(CommandContext& context) {
  const std::int64_t now_ms = context.now_ms();
  std::vector<Reply> seconds_and_microseconds;
  seconds_and_microseconds.push_back(Reply::bulk(DecimalText(now_ms / 1000)));
  seconds_and_microseconds.push_back(Reply::bulk(DecimalText(now_ms % 1000 * 1000)));
  return Reply::array(std::move(seconds_and_microseconds));
}

// DBSIZE
Reply dbsize_command(CommandContext& context) {
  return Reply::integer(static_cast<std::int64_t>(context.db().size()));
}

// FLUSHDB [ASYNC | SYNC]
Reply flushdb_command(CommandContext& context) {
  if (!flush_options_ok(context)) return errors::syntax();
  context.db().remove_all();
  return Reply::ok();
}

// FLUSHALL [ASYNC | SYNC]
Reply flushall_command(CommandContext& context) {
  if (!flush_options_ok(context)) return errors::syntax();
  context.keyspace().remove_all();
  return Reply::ok();
}

}  // namespace rushgate
