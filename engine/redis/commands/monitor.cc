// MONITOR: https://redis.io/docs/latest/commands/monitor/
#include "engine/redis/commands/monitor.h"

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_format.h"
#include "engine/core/base/time_units.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/secret_arguments.h"

namespace rushgate {
namespace {

/// Appends an argument in quotes, with escapes for bytes that cannot be shown. (Redis's
/// sdscatrepr.)
void append_quoted(std::string_view argument, std::string& line) {
  line += " \"";
  for (const char c : argument) {
    constexpr std::string_view kEscaped = "\\\"\n\r\t\a\b";
    constexpr std::string_view kLetters = "\\\"nrtab";
    const std::size_t escape = kEscaped.find(c);
    if (escape != std::string_view::npos) {
      line.append(1, '\\').append(1, kLetters[escape]);
    } else if (c >= ' ' && c <= '~') {
      line += c;
    } else {
      line += absl::StrFormat("\\x%02x", static_cast<unsigned char>(c));
    }
  }
  line += '"';
}

std::string_view address_of(const CommandContext& context) {
  if (context.in_script()) return "lua";
  const std::string_view address = context.session().address;
  return address.empty() ? "embedded" : address;
}

Reply monitor_command(CommandContext& context) {
  if (!context.may_wait())
    return Reply::error("ERR MONITOR isn't allowed for DENY BLOCKING client");
  Session& session = context.session();
  if (session.outlet == nullptr) return errors::takes_no_messages();
  if (session.is_monitor) return no_reply();
  context.services().channels.add_monitor(session);
  return Reply::ok();
}

// ---- The records ----

constexpr CommandSpec kMonitorCommands[] = {
    {.name = "monitor",
     .function = monitor_command,
     .arity = 1,
     .flags = kAdministers,
     .summary = "Sends the client every command that the engine runs.",
     .since = "1.0.0",
     .complexity = "O(1)"},
};

}  // namespace

void show_to_monitors(const CommandContext& context) {
  const std::int64_t now_ms = context.now_ms();
  std::string line = absl::StrFormat("%d.%06d [%d ", now_ms / kMsPerSecond,
                                     now_ms % kMsPerSecond * kUsPerMs, context.session().db);
  line.append(address_of(context)).append("]");
  for (std::size_t i = 0; i < context.size(); ++i)
    append_quoted(is_secret(context.request(), i) ? kRedacted : context[i], line);
  context.services().channels.publish_to_monitors(line);
}

CommandFamily monitor_commands() { return {CommandGroup::kServer, kMonitorCommands}; }

}  // namespace rushgate
