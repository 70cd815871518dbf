#include "tests/project/readme/commands_page.h"

#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "absl/strings/ascii.h"
#include "engine/commands/command_docs.h"
#include "engine/commands/command_table.h"

namespace rushgate {
namespace {

constexpr std::string_view kHead = R"(# The commands

All commands of the engine, by family, each with the Redis version that introduced it. They reply as Redis 7.0
does; [differences.md](differences.md) lists the exceptions. Complexity is Redis's. Flags and keys are those of
`COMMAND INFO`. Arguments are counted from the command's name, which is number 0.

This page is generated from the command table. After a change there, run `./dev document-commands`.
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
  const CommandDoc& doc = find_doc(spec.name);
  const std::string name = shown_name(spec.name);
  std::string text = fmt::format("\n### {}\n\n", name);
  if (spec.function != nullptr)
    text += fmt::format("    {}{}{}\n\n", name, doc.syntax.empty() ? "" : " ", doc.syntax);
  text += fmt::format("{}\n\nSince {}. Complexity: {}{}\n", doc.summary, doc.since, doc.complexity,
                      doc.complexity.ends_with('.') ? "" : ".");
  if (!doc.deprecated_since.empty())
    text += fmt::format("Deprecated since {}: use {}.\n", doc.deprecated_since, doc.replaced_by);
  const std::string flags = joined(flag_names(spec));
  if (!flags.empty()) text += fmt::format("Flags: {}.\n", flags);
  text += keys_line(spec.keys);
  if ((spec.flags & kNoScript) != 0) text += "Not in scripts.\n";
  return text;
}

constexpr CommandGroup kGroups[] = {
    CommandGroup::kGeneric,  CommandGroup::kString,     CommandGroup::kHash,
    CommandGroup::kList,     CommandGroup::kSet,        CommandGroup::kSortedSet,
    CommandGroup::kStream,   CommandGroup::kScripting,  CommandGroup::kTransactions,
    CommandGroup::kChannels, CommandGroup::kConnection, CommandGroup::kServer,
};

}  // namespace

std::string commands_page() {
  std::string page(kHead);
  for (const CommandGroup group : kGroups) {
    page += fmt::format("\n## {}\n", group_name(group));
    for (const CommandSpec& spec : command_table()) {
      if (spec.group == group) page += section(spec);
    }
  }
  return page;
}

}  // namespace rushgate
