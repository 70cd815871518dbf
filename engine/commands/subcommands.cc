#include "engine/commands/subcommands.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "engine/commands/arguments.h"
#include "engine/commands/errors.h"

namespace rushgate {

Reply run_subcommand(CommandContext& context, std::string_view command,
                     std::span<const Subcommand> subcommands) {
  for (const Subcommand& subcommand : subcommands) {
    if (!Arguments(context.request(), 1).accept(subcommand.name)) continue;
    const auto given = static_cast<int>(context.size());
    if (subcommand.arity >= 0 ? given == subcommand.arity : given >= -subcommand.arity)
      return subcommand.run(context);
    if (context.in_script()) return errors::arity_in_script();
    return errors::wrong_arity(std::string(command) + '|' + std::string(subcommand.name));
  }
  if (context.in_script()) return errors::unknown_in_script();
  return errors::unknown_subcommand(absl::AsciiStrToUpper(std::string(command)), context[1]);
}

Reply help_reply(std::span<const std::string_view> lines) {
  std::vector<Reply> replies;
  replies.reserve(lines.size());
  for (const std::string_view line : lines) replies.push_back(Reply::status(std::string(line)));
  return Reply::array(std::move(replies));
}

}  // namespace rushgate
