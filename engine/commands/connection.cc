// Commands about the connection: https://redis.io/docs/latest/commands/?group=connection
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/base/numbers.h"
#include "engine/base/redis_version.h"
#include "engine/base/secrets.h"
#include "engine/commands/arguments.h"
#include "engine/commands/clients.h"
#include "engine/commands/command_context.h"
#include "engine/commands/command_functions.h"
#include "engine/commands/errors.h"
#include "engine/commands/transactions.h"

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

}  // namespace

// AUTH [username] password
Reply auth_command(CommandContext& context) {
  if (context.size() > 3) return errors::syntax();
  Session& session = context.session();
  const bool has_user = context.size() == 3;
  if (!has_user && session.password.empty()) return errors::no_password_asked();
  const std::string_view user = has_user ? context[1] : kDefaultUser;
  if (!authenticate(session, user, context[context.size() - 1])) return errors::wrong_password();
  return Reply::ok();
}

// ECHO message
Reply echo_command(CommandContext& context) { return Reply::bulk(context[1]); }

// HELLO [protover [AUTH username password] [SETNAME clientname]]
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

// PING [message]
Reply ping_command(CommandContext& context) {
  if (context.size() > 2) return errors::wrong_arity("ping");
  const Session& session = context.session();
  if (session.protocol == 2 && !session.subscriptions.empty()) {  // has the form of a message then
    return Reply::array({Reply::bulk("pong"), Reply::bulk(context.size() == 2 ? context[1] : "")});
  }
  if (context.size() == 2) return Reply::bulk(context[1]);
  return Reply::status("PONG");
}

// QUIT
Reply quit_command(CommandContext& context) {
  context.session().is_closing = true;
  return Reply::ok();
}

// RESET
Reply reset_command(CommandContext& context) {
  Session& session = context.session();
  end_transaction(context);
  context.services().channels.leave_all(session);
  session.is_silent = false;  // CLIENT REPLY SKIP does not suppress this reply
  session.db = 0;
  session.protocol = 2;
  set_client_name(session, "");
  session.is_authenticated = session.password.empty();
  return Reply::status("RESET");
}

// SELECT index
Reply select_command(CommandContext& context) {
  Arguments arguments(context.request());
  const std::uint8_t db = arguments.next_database();
  if (!arguments.ok()) return arguments.take_error();
  context.session().db = db;
  return Reply::ok();
}

}  // namespace rushgate
