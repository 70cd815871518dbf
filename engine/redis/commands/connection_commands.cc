// Commands about the connection: https://redis.io/docs/latest/commands/?group=connection
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/core/base/numbers.h"
#include "engine/core/base/secrets.h"
#include "engine/core/base/version.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/clients.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/tracking_table.h"
#include "engine/redis/commands/transactions.h"

namespace rushgate {
namespace {

// Reported to clients, which choose their commands by it. (docs/differences.md)
constexpr const char* kServerName = "redis";

bool authenticate(Session& session, std::string_view user, std::string_view password) {
  const bool is_right = user == kDefaultUser &&
                        (session.password.empty() || equals_secret(session.password, password));
  if (is_right) session.is_authenticated = true;
  return is_right;
}

Reply hello_reply(const Session& session) {
  const auto text = [](const char* bytes) { return Reply::bulk(bytes); };
  return Reply::map({text("server"), text(kServerName),                                  //
                     text("version"), text(kRedisVersion),                               //
                     text("proto"), Reply::integer(session.protocol),                    //
                     text("id"), Reply::integer(static_cast<std::int64_t>(session.id)),  //
                     text("mode"), text("standalone"),                                   //
                     text("role"), text("master"),                                       //
                     text("modules"), Reply::array()});
}

Reply auth_command(CommandContext& context) {
  if (context.size() > 3) return errors::syntax();
  Session& session = context.session();
  const bool has_user = context.size() == 3;
  if (!has_user && session.password.empty()) return errors::no_password_asked();
  const std::string_view user = has_user ? context[1] : kDefaultUser;
  if (!authenticate(session, user, context[context.size() - 1])) return errors::wrong_password();
  return Reply::ok();
}

Reply echo_command(CommandContext& context) { return Reply::bulk(context[1]); }

// As in Redis, an option takes effect even if a later one is invalid.
Reply hello_command(CommandContext& context) {
  Session& session = context.session();
  int protocol = session.protocol;
  if (context.size() > 1) {
    const auto asked = parse_int64(context[1]);
    if (!asked) return errors::protocol_version_not_an_integer();
    if (*asked != 2 && *asked != 3) return errors::no_such_protocol();
    protocol = static_cast<int>(*asked);
  }
  Arguments arguments(context.request(), 2);
  while (!arguments.at_end()) {
    const std::size_t left = arguments.left();
    if (left > 2 && arguments.accept("AUTH")) {
      const std::string_view user = arguments.next();
      if (!authenticate(session, user, arguments.next())) return errors::wrong_password();
    } else if (left > 1 && arguments.accept("SETNAME")) {
      if (!set_client_name(session, arguments.next())) return errors::invalid_client_name();
    } else {
      return errors::hello_option(arguments.next());
    }
  }
  if (!session.is_authenticated) return errors::hello_not_authenticated();
  session.protocol = protocol;
  return hello_reply(session);
}

Reply ping_command(CommandContext& context) {
  if (context.size() > 2) return errors::wrong_arity("ping");
  const Session& session = context.session();
  if (session.protocol == 2 && !session.subscriptions.empty()) {  // has the form of a message then
    return Reply::array({Reply::bulk("pong"), Reply::bulk(context.size() == 2 ? context[1] : "")});
  }
  if (context.size() == 2) return Reply::bulk(context[1]);
  return Reply::status("PONG");
}

Reply quit_command(CommandContext& context) {
  context.session().is_closing = true;
  return Reply::ok();
}

Reply reset_command(CommandContext& context) {
  Session& session = context.session();
  end_transaction(context);
  context.services().channels.leave_all(session);
  context.services().tracking.disable(session);
  session.is_silent = false;  // CLIENT REPLY SKIP does not suppress this reply
  session.db = 0;
  session.protocol = 2;
  session.keeps_idle_times = false;  // CLIENT NO-EVICT stays, as in Redis 7.0
  set_client_name(session, "");
  session.is_authenticated = session.password.empty();
  return Reply::status("RESET");
}

Reply select_command(CommandContext& context) {
  Arguments arguments(context.request());
  const std::uint8_t db = arguments.next_database();
  if (!arguments.ok()) return arguments.take_error();
  context.session().db = db;
  return Reply::ok();
}

// ---- The records ----

constexpr CommandFlags kGreets = kNoScript | kAnytime | kFast | kNoAuth | kAllowBusy;

constexpr CommandSpec kConnectionCommands[] = {
    {.name = "auth",
     .function = auth_command,
     .arity = -2,
     .flags = kGreets | kEndsBatch,
     .syntax = "[username] password",
     .summary = "Authenticates the client with a password.",
     .since = "1.0.0",
     .complexity = "O(N), N passwords of the user"},
    {.name = "echo",
     .function = echo_command,
     .arity = 2,
     .flags = kAnytime | kFast,
     .syntax = "message",
     .summary = "Returns its argument.",
     .since = "1.0.0",
     .complexity = "O(1)"},
    {.name = "hello",
     .function = hello_command,
     .arity = -1,
     .flags = kGreets | kEndsBatch | kChangesProtocol,
     .syntax = "[protover [AUTH username password] [SETNAME clientname]]",
     .summary = "Sets the protocol's version, and may authenticate the client.",
     .since = "6.0.0",
     .complexity = "O(1)"},
    {.name = "ping",
     .function = ping_command,
     .arity = -1,
     .flags = kFast | kWhileSubscribed,
     .syntax = "[message]",
     .summary = "Returns PONG, or its argument.",
     .since = "1.0.0",
     .complexity = "O(1)"},
    {.name = "quit",
     .function = quit_command,
     .arity = -1,
     .flags = kGreets | kNotQueued | kEndsBatch | kWhileSubscribed | kEndsMulti,
     .summary = "Closes the connection.",
     .since = "1.0.0",
     .complexity = "O(1)"},
    {.name = "reset",
     .function = reset_command,
     .arity = 1,
     .flags = kGreets | kNotQueued | kEndsBatch | kWhileSubscribed | kChangesProtocol | kEndsMulti,
     .summary = "Resets the connection to its initial state.",
     .since = "6.2.0",
     .complexity = "O(1)"},
    {.name = "select",
     .function = select_command,
     .arity = 2,
     .flags = kAnytime | kFast,
     .syntax = "index",
     .summary = "Selects the database of the connection.",
     .since = "1.0.0",
     .complexity = "O(1)"},
};

}  // namespace

CommandFamily connection_commands() { return {CommandGroup::kConnection, kConnectionCommands}; }

}  // namespace rushgate
