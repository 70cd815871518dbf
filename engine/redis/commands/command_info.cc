// COMMAND, except DOCS: https://redis.io/docs/latest/commands/command/
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/client/key_specs.h"
#include "engine/redis/commands/acl_categories.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_docs.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/glob.h"
#include "engine/redis/commands/help_reply.h"
#include "engine/redis/commands/program_command_table.h"
#include "engine/redis/commands/reply_allowance.h"

namespace rushgate {
namespace {

// ---- COMMAND INFO ----

Reply statuses(const std::vector<std::string_view>& texts, std::string_view prefix = "") {
  std::vector<Reply> replies;
  replies.reserve(texts.size());
  for (const std::string_view text : texts)
    replies.push_back(Reply::status(std::string(prefix) + std::string(text)));
  return Reply::set(std::move(replies));
}

/// {type: …, spec: {…}}
Reply search_reply(const char* type, std::vector<Reply> spec) {
  return Reply::map(
      {Reply::bulk("type"), Reply::bulk(type), Reply::bulk("spec"), Reply::map(std::move(spec))});
}

Reply begin_search_reply(const KeySpec& spec) {
  if (spec.is_unknown) return search_reply("unknown", {});
  if (spec.keyword.empty())
    return search_reply("index", {Reply::bulk("index"), Reply::integer(spec.first)});
  return search_reply("keyword", {Reply::bulk("keyword"), Reply::bulk(spec.keyword),
                                  Reply::bulk("startfrom"), Reply::integer(spec.first)});
}

Reply find_keys_reply(const KeySpec& spec) {
  if (spec.is_unknown) return search_reply("unknown", {});
  if (spec.is_counted) {
    return search_reply("keynum",
                        {Reply::bulk("keynumidx"), Reply::integer(0), Reply::bulk("firstkey"),
                         Reply::integer(1), Reply::bulk("keystep"), Reply::integer(spec.step)});
  }
  return search_reply("range", {Reply::bulk("lastkey"), Reply::integer(spec.last),
                                Reply::bulk("keystep"), Reply::integer(spec.step),
                                Reply::bulk("limit"), Reply::integer(spec.are_half ? 2 : 0)});
}

Reply key_specs_reply(const KeySpecs& specs) {
  std::vector<Reply> replies;
  for (const KeySpec& spec : specs) {
    replies.push_back(Reply::map({Reply::bulk("flags"), statuses(key_flag_names(spec.flags)),
                                  Reply::bulk("begin_search"), begin_search_reply(spec),
                                  Reply::bulk("find_keys"), find_keys_reply(spec)}));
  }
  return Reply::set(std::move(replies));
}

Reply info_reply(const CommandSpec& spec) {
  std::vector<Reply> subcommands;
  for (const CommandSpec& subcommand : subcommands_of(spec))
    subcommands.push_back(info_reply(subcommand));
  const KeyRange range = key_range(spec.keys);
  Reply tips = Reply::set({});  // docs/differences.md
  return Reply::array({Reply::bulk(spec.name), Reply::integer(spec.arity),
                       statuses(flag_names(spec)), Reply::integer(range.first),
                       Reply::integer(range.last), Reply::integer(range.step),
                       statuses(acl_categories(spec), "@"), std::move(tips),
                       key_specs_reply(spec.keys), Reply::set(std::move(subcommands))});
}

Reply all_infos(const CommandContext& context) {
  std::vector<Reply> infos;
  for (const CommandSpec* const spec : all_commands(context.services())) {
    if (!is_subcommand(*spec)) infos.push_back(info_reply(*spec));
  }
  return Reply::array(std::move(infos));
}

Reply command_command(CommandContext& context) { return all_infos(context); }

Reply command_info_command(CommandContext& context) {
  if (context.size() == 2) return all_infos(context);
  std::vector<Reply> infos;
  ReplyAllowance allowance(context.session().reply_bytes_max);
  for (const std::string_view name : context.request().subspan(2)) {
    const CommandSpec* const spec = find_full_name(context.services(), name);
    infos.push_back(spec == nullptr ? Reply::nil() : info_reply(*spec));
    if (!allowance.take(memory_bytes(infos.back()))) return errors::reply_too_large();
  }
  return Reply::array(std::move(infos));
}

Reply command_count_command(CommandContext& context) {
  return Reply::integer(
      std::ranges::count_if(all_commands(context.services()),
                            [](const CommandSpec* spec) { return !is_subcommand(*spec); }));
}

// ---- COMMAND LIST ----

/// Selects commands.
struct CommandFilter {
  enum class Kind : std::uint8_t { kAll, kModule, kCategory, kPattern };

  [[nodiscard]] bool matches(const CommandSpec& spec) const {
    switch (kind) {
      case Kind::kModule:
        return false;  // there are none
      case Kind::kCategory:
        return std::ranges::any_of(acl_categories(spec), [this](std::string_view category) {
          return is_keyword(text, category);
        });
      case Kind::kPattern:
        return glob_matches_in_any_case(text, spec.name);
      case Kind::kAll:
        break;
    }
    return true;
  }

  Kind kind = Kind::kAll;
  std::string_view text = {};
};

/// [FILTERBY <MODULE module-name | ACLCAT category | PATTERN pattern>]
CommandFilter read_filter(Arguments& arguments) {
  if (arguments.at_end()) return {};
  CommandFilter filter;
  const bool is_filter = arguments.accept("FILTERBY");
  if (is_filter && arguments.accept("MODULE")) {
    filter.kind = CommandFilter::Kind::kModule;
  } else if (is_filter && arguments.accept("ACLCAT")) {
    filter.kind = CommandFilter::Kind::kCategory;
  } else if (is_filter && arguments.accept("PATTERN")) {
    filter.kind = CommandFilter::Kind::kPattern;
  } else {
    arguments.fail(errors::syntax());
  }
  filter.text = arguments.next();
  if (!arguments.at_end()) arguments.fail(errors::syntax());
  return filter;
}

Reply command_list_command(CommandContext& context) {
  Arguments arguments(context.request(), 2);
  const CommandFilter filter = read_filter(arguments);
  if (!arguments.ok()) return arguments.take_error();
  std::vector<Reply> names;
  for (const CommandSpec* const spec : all_commands(context.services())) {
    if (filter.matches(*spec)) names.push_back(Reply::bulk(spec->name));
  }
  return Reply::array(std::move(names));
}

// ---- COMMAND GETKEYS ----

/// Applies `reply_to` to each key of the request that begins at argument 2.
template <class ReplyTo>
Reply keys_reply(const CommandContext& context, const ReplyTo& reply_to) {
  const RequestView request = context.request().subspan(2);
  const CommandSpec* const spec = find_command(context.services(), request);
  if (spec == nullptr) return errors::invalid_command();
  const bool has_keys = std::ranges::any_of(
      spec->keys, [](const KeySpec& some) { return (some.flags & key_specs::kNotKey) == 0; });
  if (!has_keys) return errors::no_key_arguments();
  if (!arity_fits(*spec, request.size())) return errors::invalid_number_of_arguments();
  const std::vector<FoundKey> keys = find_keys(*spec, request);
  if (keys.empty() && (spec->flags & kNoMandatoryKeys) == 0) return errors::invalid_arguments();
  std::vector<Reply> replies;
  replies.reserve(keys.size());
  for (const FoundKey& found : keys)
    replies.push_back(reply_to(request[found.position], found.flags));
  return Reply::array(std::move(replies));
}

Reply command_getkeys_command(CommandContext& context) {
  return keys_reply(context, [](std::string_view key, unsigned) { return Reply::bulk(key); });
}

Reply command_getkeysandflags_command(CommandContext& context) {
  return keys_reply(context, [](std::string_view key, unsigned flags) {
    return Reply::array({Reply::bulk(key), statuses(key_flag_names(flags))});
  });
}

// ---- COMMAND HELP ----

Reply command_help_command(CommandContext&) {
  static constexpr std::string_view kLines[] = {
      "COMMAND <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
      "(no subcommand)",
      "    Return details about all Redis commands.",
      "COUNT",
      "    Return the total number of commands in this Redis server.",
      "LIST",
      "    Return a list of all commands in this Redis server.",
      "INFO [<command-name> ...]",
      "    Return details about multiple Redis commands.",
      "    If no command names are given, documentation details for all",
      "    commands are returned.",
      "DOCS [<command-name> ...]",
      "    Return documentation details about multiple Redis commands.",
      "    If no command names are given, documentation details for all",
      "    commands are returned.",
      "GETKEYS <full-command>",
      "    Return the keys from a full Redis command.",
      "GETKEYSANDFLAGS <full-command>",
      "    Return the keys and the access flags from a full Redis command.",
      "HELP",
      "    Prints this help.",
  };
  return help_reply(kLines);
}

// ---- The records ----

constexpr CommandFlags kDescribes = kAnytime | kAclConnection;

constexpr CommandSpec kCommandCommands[] = {
    {.name = "command",
     .function = command_command,
     .arity = -1,
     .flags = kDescribes | kContainer,
     .summary = "Describes all commands.",
     .since = "2.8.13",
     .complexity = "O(N), N commands"},
    {.name = "command|count",
     .function = command_count_command,
     .arity = 2,
     .flags = kDescribes,
     .summary = "Counts the commands.",
     .since = "2.8.13",
     .complexity = "O(1)"},
    {.name = "command|docs",
     .function = command_docs_command,
     .arity = -2,
     .flags = kDescribes,
     .syntax = "[command-name [command-name ...]]",
     .summary = "Returns the documentation of commands.",
     .since = "7.0.0",
     .complexity = "O(N), N commands requested"},
    {.name = "command|getkeys",
     .function = command_getkeys_command,
     .arity = -4,
     .flags = kDescribes,
     .syntax = "command [arg [arg ...]]",
     .summary = "Returns the keys of a command with its arguments.",
     .since = "2.8.13",
     .complexity = "O(N), N arguments"},
    {.name = "command|getkeysandflags",
     .function = command_getkeysandflags_command,
     .arity = -4,
     .flags = kDescribes,
     .syntax = "command [arg [arg ...]]",
     .summary = "Returns the keys of a command, with the flags of each.",
     .since = "7.0.0",
     .complexity = "O(N), N arguments"},
    help_record("command|help", command_help_command, "5.0.0", kDescribes),
    {.name = "command|info",
     .function = command_info_command,
     .arity = -2,
     .flags = kDescribes,
     .syntax = "[command-name [command-name ...]]",
     .summary = "Returns arity, flags, keys and categories of commands.",
     .since = "2.8.13",
     .complexity = "O(N), N commands requested"},
    {.name = "command|list",
     .function = command_list_command,
     .arity = -2,
     .flags = kDescribes,
     .syntax = "[FILTERBY <MODULE module-name | ACLCAT category | PATTERN pattern>]",
     .summary = "Returns the names of all commands, or of the matching ones.",
     .since = "7.0.0",
     .complexity = "O(N), N commands"},
};

}  // namespace

CommandFamily command_commands() { return {CommandGroup::kServer, kCommandCommands}; }

}  // namespace rushgate
