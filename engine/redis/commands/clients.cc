// CLIENT: https://redis.io/docs/latest/commands/client/
#include "engine/redis/commands/clients.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/heap.h"
#include "engine/core/base/numbers.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/command_table.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/help_reply.h"
#include "engine/redis/commands/reply_allowance.h"
#include "engine/redis/commands/sessions.h"
#include "engine/redis/commands/tracking_table.h"
#include "engine/redis/commands/transactions.h"

namespace rushgate {

void end_session(CommandServices& services, Session& session) {
  session.is_ended = true;
  services.blocked.unblock(session.id, std::nullopt);
  services.blocked.drop_paused(session.id);
  end_transaction(session, services.keyspace);
  services.channels.leave_all(session);
  services.tracking.forget(session);
  services.sessions.remove(session.id);
}

std::int64_t redirection_of(const Session& session) {
  return session.tracking ? static_cast<std::int64_t>(session.tracking->redirect) : -1;
}

namespace {

/// Sets a name that CLIENT LIST shows. Returns false if it has spaces or unprintable characters.
bool set_shown_name(Session& session, std::string Session::*name, std::string_view value) {
  const bool is_valid = std::ranges::all_of(value, [](char c) { return c >= '!' && c <= '~'; });
  if (!is_valid) return false;
  std::string(value).swap(session.*name);  // releases the old one's memory
  session.held_bytes.names = heap_bytes(session.name) + heap_bytes(session.library_name) +
                             heap_bytes(session.library_version);
  return true;
}

}  // namespace

bool set_client_name(Session& session, std::string_view name) {
  return set_shown_name(session, &Session::name, name);
}

namespace {

// ---- Facts about a client ----

std::string flags_of(const CommandContext& context, Session& session) {
  std::string flags;
  if (session.is_monitor) flags += 'O';
  if (!session.subscriptions.empty()) flags += 'P';
  if (session.transaction) flags += 'x';
  if (context.services().blocked.is_blocked(session.id)) flags += 'b';
  if (session.tracking) flags += 't';
  if (session.tracking && session.tracking->redirect_is_broken) flags += 'R';
  if (session.tracking && session.tracking->broadcasts) flags += 'B';
  if (any_watched_key_was_written(session, context.keyspace())) flags += 'd';
  if (session.is_closing) flags += 'c';
  if (session.address.starts_with('/')) flags += 'U';
  if (session.is_protected) flags += 'e';
  if (session.keeps_idle_times) flags += 'T';
  return flags.empty() ? "N" : flags;
}

std::string command_of(const Session& session) {
  if (session.last_command == nullptr) return "NULL";
  return std::string(session.last_command->name);
}

/// Returns the fields about memory, each after a space.
std::string memory_fields(const Session& session) {
  const ConnectionBuffers& buffers = session.buffers;
  const std::size_t total = sizeof(session) + session.held_bytes.total() + buffers.memory_bytes();
  return concat(" qbuf=", buffers.input.get(), " qbuf-free=", buffers.input_free.get(),
                " argv-mem=", buffers.requests.get(),
                " multi-mem=", session.held_bytes.requests.get(),
                " rbs=", buffers.reply_capacity.get(), " rbp=", buffers.reply_peak.get(),
                " obl=", buffers.replies.get(), " oll=", buffers.output_chunks.get(),
                " omem=", buffers.output_bytes.get(), " tot-mem=", total);
}

/// Returns the fields that Redis 7.2 has added, each after a space. They are missing unless the
/// client has used CLIENT SETINFO: an earlier Redis has none.
std::string library_fields(const Session& session) {
  if (session.library_name.empty() && session.library_version.empty()) return {};
  return concat(" lib-name=", session.library_name, " lib-ver=", session.library_version);
}

/// Returns a line of CLIENT LIST.
std::string line_of(const CommandContext& context, Session& session) {
  const auto count = [&](ChannelKind kind) {
    return session.subscriptions.names[static_cast<std::size_t>(kind)].size();
  };
  const std::int64_t queued =
      session.transaction ? static_cast<std::int64_t>(session.transaction->requests.size()) : -1;
  return concat(
      "id=", session.id, " addr=", session.address, " laddr=", session.local_address,
      " fd=-1 name=", session.name, " age=", (context.now_ms() - session.began_ms) / 1'000,
      " idle=", (context.now_ms() - session.last_ms) / 1'000, " flags=", flags_of(context, session),
      " db=", int{session.db}, " sub=", count(ChannelKind::kPlain),
      " psub=", count(ChannelKind::kPattern), " ssub=", count(ChannelKind::kShard),
      " multi=", queued, memory_fields(session), " events=r cmd=", command_of(session),
      " user=default redir=", redirection_of(session), " resp=", session.protocol,
      library_fields(session), "\n");
}

// ---- Choosing clients ----

/// Returns the canonical name of a client type; empty if it is unknown. (There are no masters and
/// replicas.)
std::optional<std::string> type_named(std::string_view name) {
  std::string type = absl::AsciiStrToLower(std::string(name));
  if (type == "slave") type = "replica";
  const bool is_known =
      type == "normal" || type == "pubsub" || type == "master" || type == "replica";
  if (!is_known) return std::nullopt;
  return type;
}

bool is_of_type(const Session& session, std::string_view type) {
  return type == (session.subscriptions.empty() ? "normal" : "pubsub");
}

/// Matches the sessions that meet all conditions that are set.
struct ClientFilter {
  std::optional<std::string> type;
  std::optional<std::string_view> address;
  std::optional<std::string_view> local_address;
  std::optional<std::uint64_t> id;

  [[nodiscard]] bool matches(const Session& session) const {
    return (!type || is_of_type(session, *type)) && (!address || session.address == *address) &&
           (!local_address || session.local_address == *local_address) &&
           (!id || session.id == *id);
  }
};

// ---- LIST ----

Reply lines_of(const CommandContext& context,
               const std::vector<std::shared_ptr<Session>>& sessions) {
  std::string lines = "txt:";
  ReplyAllowance allowance(context.session().reply_bytes_max);
  for (const auto& session : sessions) {  // the ids of CLIENT LIST ID may repeat
    const std::string line = line_of(context, *session);
    if (!allowance.take(line.size())) return errors::reply_too_large();
    lines += line;
  }
  return Reply::verbatim(std::move(lines));
}

Reply client_list_command(CommandContext& context) {
  Arguments arguments(context.request(), 2);
  std::optional<std::string> type;
  std::vector<std::shared_ptr<Session>> listed;
  if (arguments.left() == 2 && arguments.accept("TYPE")) {
    const std::string_view name = arguments.next();
    type = type_named(name);
    if (!type) return errors::unknown_client_type(name);
  } else if (arguments.left() > 1 && arguments.accept("ID")) {
    while (!arguments.at_end()) {
      const auto id = parse_int64(arguments.next());
      if (!id) return errors::invalid_client_id();
      auto session = context.services().sessions.find(static_cast<std::uint64_t>(*id));
      if (session != nullptr) listed.push_back(std::move(session));
    }
    return lines_of(context, listed);
  } else if (!arguments.at_end()) {
    return errors::syntax();
  }
  for (auto& session : context.services().sessions.all()) {
    if (!type || is_of_type(*session, *type)) listed.push_back(std::move(session));
  }
  return lines_of(context, listed);
}

Reply client_info_command(CommandContext& context) {
  return Reply::verbatim("txt:" + line_of(context, context.session()));
}

// ---- KILL ----

/// Returns false for a client of this process, which has no connection to close.
bool kill(const CommandContext& context, Session& session) {
  if (session.outlet == nullptr || session.address.empty()) return false;
  if (&session == &context.session()) {
    session.is_closing = true;  // after the reply
    return true;
  }
  end_session(context.services(), session);
  session.outlet->hang_up();
  return true;
}

/// The old form CLIENT KILL address.
Reply kill_address(const CommandContext& context) {
  bool killed = false;
  for (const auto& session : context.services().sessions.all()) {  // a unix socket's have the same
    if (session->address == context[2] && kill(context, *session)) killed = true;
  }
  return killed ? Reply::ok() : errors::no_such_client();
}

Reply client_kill_command(CommandContext& context) {
  if (context.size() == 3) return kill_address(context);
  ClientFilter filter;
  bool skips_me = true;
  Arguments arguments(context.request(), 2);
  while (arguments.left() > 1) {
    if (arguments.accept("ID")) {
      const auto id = parse_int64(arguments.next());
      if (!id || *id < 1) return errors::not_above_zero("client-id");
      filter.id = static_cast<std::uint64_t>(*id);
    } else if (arguments.accept("TYPE")) {
      const std::string_view name = arguments.next();
      filter.type = type_named(name);
      if (!filter.type) return errors::unknown_client_type(name);
    } else if (arguments.accept("ADDR")) {
      filter.address = arguments.next();
    } else if (arguments.accept("LADDR")) {
      filter.local_address = arguments.next();
    } else if (arguments.accept("USER")) {
      const std::string_view user = arguments.next();
      if (user != kDefaultUser) return errors::no_such_user(user);
    } else if (arguments.accept("SKIPME")) {
      skips_me = arguments.accept("YES");
      if (!skips_me && !arguments.accept("NO")) return errors::syntax();
    } else {
      return errors::syntax();
    }
  }
  if (!arguments.at_end()) return errors::syntax();
  std::int64_t killed = 0;
  for (const auto& session : context.services().sessions.all()) {
    if (skips_me && session.get() == &context.session()) continue;
    if (filter.matches(*session) && kill(context, *session)) ++killed;
  }
  return Reply::integer(killed);
}

// ---- The client itself ----

Reply client_id_command(CommandContext& context) {
  return Reply::integer(static_cast<std::int64_t>(context.session().id));
}

Reply client_getname_command(CommandContext& context) {
  const std::string& name = context.session().name;
  return name.empty() ? Reply::nil() : Reply::bulk(name);
}

Reply client_setname_command(CommandContext& context) {
  if (!set_client_name(context.session(), context[2])) return errors::invalid_client_name();
  return Reply::ok();
}

Reply client_reply_command(CommandContext& context) {
  Session& session = context.session();
  Arguments arguments(context.request(), 2);
  if (arguments.accept("ON")) {
    session.is_silent = false;
    session.silent_for = 0;
  } else if (arguments.accept("OFF")) {
    session.is_silent = true;
  } else if (arguments.accept("SKIP")) {
    if (!session.is_silent) session.silent_for = 2;  // this reply and the next
  } else {
    return errors::syntax();
  }
  return Reply::ok();
}

/// For <ON | OFF>: sets the flag.
Reply switch_flag(const CommandContext& context, bool& flag) {
  Arguments arguments(context.request(), 2);
  const bool is_on = arguments.accept("ON");
  if (!is_on && !arguments.accept("OFF")) return errors::syntax();
  flag = is_on;
  return Reply::ok();
}

Reply client_no_evict_command(CommandContext& context) {
  return switch_flag(context, context.session().is_protected);
}

Reply client_no_touch_command(CommandContext& context) {
  return switch_flag(context, context.session().keeps_idle_times);
}

Reply client_setinfo_command(CommandContext& context) {
  Arguments arguments(context.request(), 2);
  std::string Session::*name = nullptr;
  if (arguments.accept("LIB-NAME")) {
    name = &Session::library_name;
  } else if (arguments.accept("LIB-VER")) {
    name = &Session::library_version;
  } else {
    return errors::unrecognized_option(context[2]);
  }
  if (!set_shown_name(context.session(), name, context[3]))
    return errors::invalid_client_info(absl::AsciiStrToLower(std::string(context[2])));
  return Reply::ok();
}

// ---- Others ----

/// As in Redis, the unblocked command counts as failed; so does CLIENT UNBLOCK … ERROR.
void note_unblocked(CommandContext& context, std::uint64_t id, const std::optional<Reply>& error) {
  Statistics& statistics = context.services().statistics;
  const auto session = context.services().sessions.find(id);
  if (session != nullptr && session->last_command != nullptr) {
    ++statistics.by_command[*session->last_command].failed;
  }
  if (!error) return;
  statistics.errors.note(error->text());
  context.set_failures(1);
}

Reply client_unblock_command(CommandContext& context) {
  if (context.size() > 4) return errors::unknown_subcommand_or_arity("CLIENT", context[1]);
  Arguments arguments(context.request(), 2);
  const std::string_view id_text = arguments.next();
  std::optional<Reply> error;
  if (!arguments.at_end() && !arguments.accept("TIMEOUT")) {
    if (!arguments.accept("ERROR")) return errors::unblock_reason();
    error = errors::unblocked_by_client();
  }
  const auto parsed_id = parse_int64(id_text);
  if (!parsed_id) return errors::not_an_integer();
  const auto id = static_cast<std::uint64_t>(*parsed_id);
  if (!context.services().blocked.unblock(id, error)) return Reply::integer(0);
  note_unblocked(context, id, error);
  return Reply::integer(1);
}

Reply client_help_command(CommandContext& /*context*/) {
  static constexpr std::string_view kLines[] = {
      "CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
      "CACHING (YES|NO)",
      "    Enable/disable tracking of the keys for next command in OPTIN/OPTOUT modes.",
      "GETREDIR",
      "    Return the client ID we are redirecting to when tracking is enabled.",
      "GETNAME",
      "    Return the name of the current connection.",
      "ID",
      "    Return the ID of the current connection.",
      "INFO",
      "    Return information about the current client connection.",
      "KILL <ip:port>",
      "    Kill connection made from <ip:port>.",
      "KILL <option> <value> [<option> <value> [...]]",
      "    Kill connections. Options are ADDR, LADDR, ID, TYPE, USER, SKIPME (YES|NO).",
      "LIST [TYPE <type> | ID <id> [<id> ...]]",
      "    Return information about client connections.",
      "NO-EVICT (ON|OFF)",
      "    Taken, without effect: no client is evicted.",
      "NO-TOUCH (ON|OFF)",
      "    Turn the recording of the client's uses of keys off or on.",
      "UNPAUSE",
      "    Stop the current client pause, resuming traffic.",
      "PAUSE <timeout> [WRITE|ALL]",
      "    Suspend all, or just write, clients for <timeout> milliseconds.",
      "REPLY (ON|OFF|SKIP)",
      "    Control the replies sent to the current connection.",
      "SETNAME <name>",
      "    Assign the name <name> to the current connection.",
      "SETINFO (LIB-NAME|LIB-VER) <value>",
      "    Set the name or the version of the client library.",
      "UNBLOCK <clientid> [TIMEOUT|ERROR]",
      "    Unblock the specified blocked client.",
      "TRACKING (ON|OFF) [REDIRECT <id>] [BCAST] [PREFIX <prefix> [...]]",
      "         [OPTIN] [OPTOUT] [NOLOOP]",
      "    Control server assisted client side caching.",
      "TRACKINGINFO",
      "    Report tracking status for the current connection.",
      "HELP",
      "    Prints this help.",
  };
  return help_reply(kLines);
}

// ---- The records ----

constexpr CommandSpec kClientCommands[] = {
    {.name = "client",
     .arity = -2,
     .flags = kContainer | kEndsBatch,
     .summary = "Describes and controls clients.",
     .since = "2.4.0",
     .complexity = "Depends on the subcommand."},
    {.name = "client|getname",
     .function = client_getname_command,
     .arity = 2,
     .flags = kNoScript | kAnytime,
     .summary = "Returns the name of the connection.",
     .since = "2.6.9",
     .complexity = "O(1)"},
    help_record("client|help", client_help_command, "5.0.0"),
    {.name = "client|id",
     .function = client_id_command,
     .arity = 2,
     .flags = kNoScript | kAnytime,
     .summary = "Returns the connection's id.",
     .since = "5.0.0",
     .complexity = "O(1)"},
    {.name = "client|info",
     .function = client_info_command,
     .arity = 2,
     .flags = kNoScript | kAnytime,
     .summary = "Describes the connection in one line.",
     .since = "6.2.0",
     .complexity = "O(1)"},
    {.name = "client|kill",
     .function = client_kill_command,
     .arity = -3,
     .flags = kAdministers,
     .syntax = "<ip:port | [ID client-id] [TYPE <NORMAL | MASTER | REPLICA | PUBSUB>] [USER "
               "username] [ADDR ip:port] [LADDR ip:port] [SKIPME <YES | NO>]>",
     .summary = "Closes the connections that match.",
     .since = "2.4.0",
     .complexity = "O(N), N clients"},
    {.name = "client|list",
     .function = client_list_command,
     .arity = -2,
     .flags = kAdministers,
     .syntax = "[TYPE <NORMAL | MASTER | REPLICA | PUBSUB>] [ID client-id [client-id ...]]",
     .summary = "Describes all connections, a line each.",
     .since = "2.4.0",
     .complexity = "O(N), N clients"},
    {.name = "client|no-evict",
     .function = client_no_evict_command,
     .arity = 3,
     .flags = kAdministers,
     .syntax = "<ON | OFF>",
     .summary = "Exempts the client from being closed for lack of memory.",
     .since = "7.0.0",
     .complexity = "O(1)"},
    {.name = "client|no-touch",
     .function = client_no_touch_command,
     .arity = 3,
     .flags = kNoScript | kAnytime,
     .syntax = "<ON | OFF>",
     .summary = "Sets whether the client's commands leave the idle times of keys unchanged.",
     .since = "7.2.0",
     .complexity = "O(1)"},
    {.name = "client|reply",
     .function = client_reply_command,
     .arity = 3,
     .flags = kNoScript | kAnytime,
     .syntax = "<ON | OFF | SKIP>",
     .summary = "Sets whether the client gets replies.",
     .since = "3.2.0",
     .complexity = "O(1)"},
    {.name = "client|setinfo",
     .function = client_setinfo_command,
     .arity = 4,
     .flags = kNoScript | kAnytime,
     .syntax = "<LIB-NAME libname | LIB-VER libver>",
     .summary = "Sets the name or the version of the client library.",
     .since = "7.2.0",
     .complexity = "O(1)"},
    {.name = "client|setname",
     .function = client_setname_command,
     .arity = 3,
     .flags = kNoScript | kAnytime,
     .syntax = "connection-name",
     .summary = "Names the connection.",
     .since = "2.6.9",
     .complexity = "O(1)"},
    {.name = "client|unblock",
     .function = client_unblock_command,
     .arity = -3,
     .flags = kAdministers,
     .syntax = "client-id [TIMEOUT | ERROR]",
     .summary = "Ends another client's wait.",
     .since = "5.0.0",
     .complexity = "O(log N), N clients"},
};

}  // namespace

CommandFamily client_commands() { return {CommandGroup::kConnection, kClientCommands}; }

}  // namespace rushgate
