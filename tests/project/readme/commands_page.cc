#include "tests/project/readme/commands_page.h"

#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "absl/strings/ascii.h"
#include "engine/redis/commands/command_table.h"
#include "engine/redis/commands/config_parameters.h"
#include "tests/support/later_version.h"

namespace rushgate {
namespace {

constexpr std::string_view kHead = R"(# The commands

All commands of the engine, by family, each with the Redis version that introduced it. They reply as Redis 7.0
does; [differences.md](differences.md) lists the exceptions. Complexity is Redis's. Flags and keys are those of
`COMMAND INFO`. Arguments are counted from the command's name, which is number 0.

This page is generated from the command records. After a change there, run `./dev document-commands`.

Some commands and options came after Redis 7.0. `x@8.4.0` means that Redis 8.4.0 introduced the argument `x`.
redis-server 7.0 refuses these commands, which are marked with their version in the table:
)";

std::string joined(const std::vector<std::string_view>& words) {
  std::string text;
  for (const std::string_view word : words) {
    if (!text.empty()) text += ", ";
    text += word;
  }
  return text;
}

/// Returns a name as shown: "XGROUP CREATE".
std::string shown_name(std::string_view name) {
  std::string shown = absl::AsciiStrToUpper(std::string(name));
  for (char& c : shown) c = c == '|' ? ' ' : c;
  return shown;
}

/// Returns the position of the last key, counted from the end.
std::string shown_last(int last) {
  return last == -1 ? "the last" : fmt::format("the last but {}", -last - 1);
}

std::string places(const KeySpec& spec) {
  if (!spec.keyword.empty()) return fmt::format("the first half after {}", spec.keyword);
  if (spec.is_counted) return fmt::format("after {}, which counts them", spec.first);
  if (spec.last == 0) return std::to_string(spec.first);
  const std::string range =
      fmt::format("{} to {}", spec.first,
                  spec.last > 0 ? std::to_string(spec.first + spec.last) : shown_last(spec.last));
  return spec.step == 1 ? range : fmt::format("every {}nd of {}", spec.step, range);
}

std::string keys_line(const KeySpecs& specs) {
  std::string text;
  for (const KeySpec& spec : specs) {
    text += text.empty() ? "Keys: " : "; ";
    text += fmt::format("{} ({})", places(spec), joined(key_flag_names(spec.flags)));
  }
  return text.empty() ? text : text + ".\n";
}

std::string section(const CommandSpec& spec) {
  const std::string name = shown_name(spec.name);
  std::string text = fmt::format("\n### {}\n\n", name);
  if (spec.function != nullptr)
    text += fmt::format("    {}{}{}\n\n", name, spec.syntax.empty() ? "" : " ", spec.syntax);
  text += fmt::format("{}\n\nSince {}. Complexity: {}{}\n", spec.summary, spec.since,
                      spec.complexity, spec.complexity.ends_with('.') ? "" : ".");
  if (!spec.deprecated_since.empty())
    text += fmt::format("Deprecated since {}: use {}.\n", spec.deprecated_since, spec.replaced_by);
  const std::string flags = joined(flag_names(spec));
  if (!flags.empty()) text += fmt::format("Flags: {}.\n", flags);
  text += keys_line(spec.keys);
  if ((spec.flags & kNoScript) != 0) text += "Not in scripts.\n";
  return text;
}

/// Returns the version of a command that came after Redis 7.0: "@8.4.0"; else nothing.
std::string later_version(const CommandSpec& spec) {
  return testing::is_later_version(spec.since) ? fmt::format("@{}", spec.since) : std::string();
}

/// Returns the names of a group's commands, with subcommands in parentheses.
std::string names_line(CommandGroup group) {
  std::string text;
  for (const CommandSpec& spec : command_table()) {
    if (spec.group != group || is_subcommand(spec)) continue;
    text += (text.empty() ? "" : " ") + shown_name(spec.name) + later_version(spec);
    std::string subcommands;
    for (const CommandSpec& subcommand : subcommands_of(spec)) {
      subcommands += (subcommands.empty() ? "" : " ") +
                     shown_name(subcommand.name.substr(spec.name.size() + 1)) +
                     later_version(subcommand);
    }
    if (!subcommands.empty()) text += " (" + subcommands + ")";
  }
  return text;
}

constexpr CommandGroup kGroups[] = {
    CommandGroup::kGeneric,     CommandGroup::kString,     CommandGroup::kBitmap,
    CommandGroup::kHyperLogLog, CommandGroup::kHash,       CommandGroup::kList,
    CommandGroup::kSet,         CommandGroup::kSortedSet,  CommandGroup::kGeo,
    CommandGroup::kStream,      CommandGroup::kScripting,  CommandGroup::kTransactions,
    CommandGroup::kChannels,    CommandGroup::kConnection, CommandGroup::kServer,
    CommandGroup::kCluster,
};

/// Returns the names of the parameters of one use, with their old names.
std::string parameter_names(ConfigParameter::Use use) {
  std::string names;
  for (const ConfigParameter& parameter : config_parameters()) {
    if (parameter.use != use || !parameter.refusal.empty()) continue;
    names += fmt::format("{}`{}`", names.empty() ? "" : ", ", parameter.name);
    if (!parameter.old_name.empty()) names += fmt::format(" (`{}`)", parameter.old_name);
  }
  return names + ".\n";
}

std::string parameters_section() {
  std::string text =
      "\n## Parameters of CONFIG\n\n"
      "CONFIG GET knows every parameter of Redis 7.0, old names in parentheses. Setting a "
      "parameter "
      "to its present value is never an error.\n";
  text += "\n**These work:** " + parameter_names(ConfigParameter::Use::kWorks);
  text +=
      "\n**These can be set, without effect:** " + parameter_names(ConfigParameter::Use::kNoEffect);
  text += "\n**These are constant:** " + parameter_names(ConfigParameter::Use::kFixed);
  text +=
      "\n**These take no other value, for a reason that CONFIG SET reports:**\n\n"
      "| parameter | reason |\n| --- | --- |\n";
  for (const ConfigParameter& parameter : config_parameters()) {
    if (!parameter.refusal.empty())
      text += fmt::format("| `{}` | {} |\n", parameter.name, parameter.refusal);
  }
  return text;
}

}  // namespace

std::string commands_page() {
  std::string page(kHead);
  page += "\n| family | commands |\n| --- | --- |\n";
  for (const CommandGroup group : kGroups)
    page += fmt::format("| {} | {} |\n", group_name(group), names_line(group));
  for (const CommandGroup group : kGroups) {
    page += fmt::format("\n## {}\n", group_name(group));
    for (const CommandSpec& spec : command_table()) {
      if (spec.group == group) page += section(spec);
    }
  }
  return page + parameters_section();
}

}  // namespace rushgate
