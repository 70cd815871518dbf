// ACL, for the only user: https://redis.io/docs/latest/commands/?group=server
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/base/concat.h"
#include "engine/core/base/random_name.h"
#include "engine/core/base/secrets.h"
#include "engine/core/base/sha256.h"
#include "engine/redis/commands/acl_categories.h"
#include "engine/redis/commands/acl_errors.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/clients.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/help_reply.h"
#include "engine/redis/commands/program_command_table.h"

namespace rushgate {
namespace {

// ---- The user. It may do everything; its password is that of the client's server ----

constexpr std::string_view kNoPassword = "nopass";
constexpr std::string_view kAllKeys = "~*";
constexpr std::string_view kAllChannels = "&*";
constexpr std::string_view kAllCommands = "+@all";

Reply bulks(const std::vector<std::string_view>& texts) {
  std::vector<Reply> replies;
  replies.reserve(texts.size());
  for (const std::string_view text : texts) replies.push_back(Reply::bulk(text));
  return Reply::array(std::move(replies));
}

Reply acl_whoami_command(CommandContext&) { return Reply::bulk(kDefaultUser); }

Reply acl_users_command(CommandContext&) { return bulks({kDefaultUser}); }

Reply acl_list_command(CommandContext& context) {
  const std::string& password = context.session().password;
  const std::string shown =
      password.empty() ? std::string(kNoPassword) : '#' + sha256_hex(password);
  return Reply::array({Reply::bulk(concat("user ", kDefaultUser, " on ", shown, " ", kAllKeys, " ",
                                          kAllChannels, " ", kAllCommands))});
}

Reply acl_getuser_command(CommandContext& context) {
  if (context[2] != kDefaultUser) return Reply::nil();
  const std::string& password = context.session().password;
  std::vector<Reply> flags = {Reply::bulk("on")};
  std::vector<Reply> passwords;
  if (password.empty()) {
    flags.push_back(Reply::bulk(kNoPassword));
  } else {
    passwords.push_back(Reply::bulk(sha256_hex(password)));
  }
  return Reply::map({Reply::bulk("flags"), Reply::set(std::move(flags)),            //
                     Reply::bulk("passwords"), Reply::array(std::move(passwords)),  //
                     Reply::bulk("commands"), Reply::bulk(kAllCommands),            //
                     Reply::bulk("keys"), Reply::bulk(kAllKeys),                    //
                     Reply::bulk("channels"), Reply::bulk(kAllChannels),            //
                     Reply::bulk("selectors"), Reply::array()});
}

// ---- ACL SETUSER ----

/// The rules of Redis that are one word.
constexpr std::string_view kWords[] = {
    "on",          "off",           "nopass",           "resetpass",
    "allkeys",     "resetkeys",     "allchannels",      "resetchannels",
    "allcommands", "nocommands",    "sanitize-payload", "skip-sanitize-payload",
    "reset",       "clearselectors"};

/// The first characters of all other rules.
constexpr std::string_view kRuleSigns = "+-~%&><#!(";

/// Returns true if the rule describes the user as it is.
bool is_fulfilled(std::string_view rule, const std::string& password) {
  constexpr std::string_view kFulfilled[] = {"on",          "allkeys",       "allchannels",
                                             "allcommands", kAllKeys,        kAllChannels,
                                             kAllCommands,  "clearselectors"};
  if (std::ranges::any_of(
          kFulfilled, [&](std::string_view fulfilled) { return is_keyword(rule, fulfilled); })) {
    return true;
  }
  if (rule.empty()) return true;  // says nothing, as in Redis
  if (password.empty()) return is_keyword(rule, kNoPassword);
  return (rule.starts_with('>') && equals_secret(password, rule.substr(1))) ||
         (rule.starts_with('#') && equals_secret(sha256_hex(password), rule.substr(1)));
}

bool is_rule(std::string_view text) {
  if (!text.empty() && kRuleSigns.find(text.front()) != std::string_view::npos) return true;
  return std::ranges::any_of(kWords,
                             [&](std::string_view word) { return equal_in_any_case(text, word); });
}

Reply acl_setuser_command(CommandContext& context) {
  const std::string_view user = context[2];
  if (user.find_first_of(std::string_view(" \t\n\v\f\r\0", 7)) != std::string_view::npos)
    return errors::invalid_user_name();
  if (user != kDefaultUser) return errors::one_user_only();
  for (const std::string_view rule : context.request().subspan(3)) {
    if (is_fulfilled(rule, context.session().password)) continue;
    return errors::rule_refused(rule, is_rule(rule) ? "the only user may do everything, and its "
                                                      "password is an option of the server"
                                                    : "Syntax error");
  }
  return Reply::ok();
}

Reply acl_deluser_command(CommandContext& context) {
  for (const std::string_view user : context.request().subspan(2)) {
    if (errors::as_c_string(user) == kDefaultUser) return errors::default_user_stays();
  }
  return Reply::integer(0);
}

// ---- Commands and their categories ----

Reply acl_cat_command(CommandContext& context) {
  if (context.size() > 3) return errors::unknown_subcommand_or_arity("ACL", context[1]);
  const std::vector<std::string_view> categories = all_acl_categories();
  if (context.size() == 2) return bulks(categories);
  const auto category = std::ranges::find_if(
      categories, [&](std::string_view name) { return is_keyword(context[2], name); });
  if (category == categories.end()) return errors::unknown_category(context[2]);
  std::vector<std::string_view> names;
  for (const CommandSpec* const spec : all_commands(context.services())) {
    const std::vector<std::string_view> of_command = acl_categories(*spec);
    if (std::ranges::find(of_command, *category) != of_command.end()) names.push_back(spec->name);
  }
  return bulks(names);
}

Reply acl_dryrun_command(CommandContext& context) {
  if (context[2] != kDefaultUser) return errors::user_not_found(context[2]);
  const RequestView request = context.request().subspan(3);
  const CommandSpec* const spec = find_command(context.services(), request);
  if (spec == nullptr) return errors::command_not_found(request[0]);
  if (!arity_fits(*spec, request.size())) return errors::wrong_arity(spec->name);
  return Reply::ok();
}

// ---- The others ----

Reply acl_genpass_command(CommandContext& context) {
  constexpr std::int64_t kBitsMax = 4'096;
  constexpr std::int64_t kBitsPerDigit = 4;
  if (context.size() > 3) return errors::unknown_subcommand_or_arity("ACL", context[1]);
  Arguments arguments(context.request(), 2);
  const std::int64_t bits = arguments.at_end() ? 256 : arguments.next_integer();
  if (!arguments.ok()) return arguments.take_error();
  if (bits <= 0 || bits > kBitsMax) return errors::invalid_password_bits();
  const std::int64_t digits = (bits + kBitsPerDigit - 1) / kBitsPerDigit;
  return Reply::bulk(random_digits(static_cast<std::size_t>(digits)));
}

/// The log is always empty: nothing is denied.
Reply acl_log_command(CommandContext& context) {
  if (context.size() > 3) return errors::unknown_subcommand_or_arity("ACL", context[1]);
  Arguments arguments(context.request(), 2);
  if (arguments.accept("RESET")) return Reply::ok();
  if (!arguments.at_end()) arguments.next_integer();
  return arguments.ok() ? Reply::array() : arguments.take_error();
}

Reply acl_file_command(CommandContext&) { return errors::no_acl_file(); }

Reply acl_help_command(CommandContext&) {
  static constexpr std::string_view kLines[] = {
      "ACL <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
      "CAT [<category>]",
      "    List all commands that belong to <category>, or all command categories",
      "    when no category is specified.",
      "DELUSER <username> [<username> ...]",
      "    Delete a list of users.",
      "DRYRUN <username> <command> [<arg> ...]",
      "    Returns whether the user can execute the given command without executing the command.",
      "GETUSER <username>",
      "    Get the user's details.",
      "GENPASS [<bits>]",
      "    Generate a secure 256-bit user password. The optional `bits` argument can",
      "    be used to specify a different size.",
      "LIST",
      "    Show users details in config file format.",
      "LOAD",
      "    Reload users from the ACL file.",
      "LOG [<count> | RESET]",
      "    Show the ACL log entries.",
      "SAVE",
      "    Save the current config to the ACL file.",
      "SETUSER <username> <attribute> [<attribute> ...]",
      "    Create or modify a user with the specified attributes.",
      "USERS",
      "    List all the registered usernames.",
      "WHOAMI",
      "    Return the current connection username.",
      "HELP",
      "    Prints this help.",
  };
  return help_reply(kLines);
}

// ---- The records ----

constexpr CommandFlags kAsks = kNoScript | kAnytime;

constexpr CommandSpec kAclCommands[] = {
    {.name = "acl",
     .arity = -2,
     .flags = kContainer,
     .summary = "Describes the user and its permissions.",
     .since = "6.0.0",
     .complexity = "Depends on the subcommand."},
    {.name = "acl|cat",
     .function = acl_cat_command,
     .arity = -2,
     .flags = kAsks,
     .syntax = "[categoryname]",
     .summary = "Returns the categories of commands, or the commands of a category.",
     .since = "6.0.0",
     .complexity = "O(N), N commands"},
    {.name = "acl|deluser",
     .function = acl_deluser_command,
     .arity = -3,
     .flags = kAdministers,
     .syntax = "username [username ...]",
     .summary = "Returns 0: there are no users that could be removed.",
     .since = "6.0.0",
     .complexity = "O(N), N names"},
    {.name = "acl|dryrun",
     .function = acl_dryrun_command,
     .arity = -4,
     .flags = kAdministers,
     .syntax = "username command [arg [arg ...]]",
     .summary = "Checks whether a user may send a command, without running it.",
     .since = "7.0.0",
     .complexity = "O(1)"},
    {.name = "acl|genpass",
     .function = acl_genpass_command,
     .arity = -2,
     .flags = kAsks,
     .syntax = "[bits]",
     .summary = "Returns a random password in hexadecimal digits.",
     .since = "6.0.0",
     .complexity = "O(1)"},
    {.name = "acl|getuser",
     .function = acl_getuser_command,
     .arity = 3,
     .flags = kAdministers,
     .syntax = "username",
     .summary = "Returns the rules of a user.",
     .since = "6.0.0",
     .complexity = "O(1)"},
    help_record("acl|help", acl_help_command, "6.0.0"),
    {.name = "acl|list",
     .function = acl_list_command,
     .arity = 2,
     .flags = kAdministers,
     .summary = "Returns the rules of all users, one line each.",
     .since = "6.0.0",
     .complexity = "O(1)"},
    {.name = "acl|load",
     .function = acl_file_command,
     .arity = 2,
     .flags = kAdministers,
     .summary = "Returns an error: there is no file of users.",
     .since = "6.0.0",
     .complexity = "O(1)"},
    {.name = "acl|log",
     .function = acl_log_command,
     .arity = -2,
     .flags = kAdministers,
     .syntax = "[count | RESET]",
     .summary = "Returns the denied requests: there are none.",
     .since = "6.0.0",
     .complexity = "O(1)"},
    {.name = "acl|save",
     .function = acl_file_command,
     .arity = 2,
     .flags = kAdministers,
     .summary = "Returns an error: there is no file of users.",
     .since = "6.0.0",
     .complexity = "O(1)"},
    {.name = "acl|setuser",
     .function = acl_setuser_command,
     .arity = -3,
     .flags = kAdministers,
     .syntax = "username [rule [rule ...]]",
     .summary = "Accepts rules that already hold for the user.",
     .since = "6.0.0",
     .complexity = "O(N), N rules"},
    {.name = "acl|users",
     .function = acl_users_command,
     .arity = 2,
     .flags = kAdministers,
     .summary = "Returns the names of all users.",
     .since = "6.0.0",
     .complexity = "O(1)"},
    {.name = "acl|whoami",
     .function = acl_whoami_command,
     .arity = 2,
     .flags = kAsks,
     .summary = "Returns the name of the client's user.",
     .since = "6.0.0",
     .complexity = "O(1)"},
};

}  // namespace

CommandFamily acl_commands() { return {CommandGroup::kServer, kAclCommands}; }

}  // namespace rushgate
