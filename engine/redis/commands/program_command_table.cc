#include "engine/redis/commands/program_command_table.h"

#include <algorithm>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/letter_case.h"
#include "engine/core/base/version.h"
#include "engine/redis/commands/command_context.h"

namespace rushgate {
namespace {

/// For clients that come over no connection: the server takes the requests of the others.
Reply program_command(CommandContext& context) {
  return Reply::error(concat("ERR ", context[0], " is for clients of the server's port"));
}

bool is_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
  });
}

const CommandSpec* find_of_program(const CommandServices& services, std::string_view name) {
  const ProgramCommandTable* const table = services.program_commands.current();
  if (table == nullptr) return nullptr;
  const auto index = table->find(name);
  return index ? &table->specs()[*index] : nullptr;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const ProgramCommandTable>> ProgramCommandTable::make(
    std::vector<ProgramCommand> commands) {
  if (commands.size() > ProgramCommands::kCommandsMax) {
    return absl::InvalidArgumentError(
        concat("a program may have ", ProgramCommands::kCommandsMax, " commands"));
  }
  for (auto command = commands.begin(); command != commands.end(); ++command) {
    const bool is_twice = std::any_of(commands.begin(), command, [&](const ProgramCommand& other) {
      return other.name == command->name;
    });
    if (!is_name(command->name) || is_twice || find_command(command->name) != nullptr) {
      return absl::InvalidArgumentError(
          concat("'", command->name, "' cannot be the name of a program's command"));
    }
  }
  return std::shared_ptr<const ProgramCommandTable>(new ProgramCommandTable(std::move(commands)));
}

ProgramCommandTable::ProgramCommandTable(std::vector<ProgramCommand> commands)
    : commands_(std::move(commands)) {
  for (const ProgramCommand& command : commands_) {
    const std::size_t row = command_table().size() + specs_.size();
    specs_.push_back({.name = command.name,
                      .function = program_command,
                      .arity = static_cast<std::int16_t>(command.arity),
                      .row = static_cast<std::uint16_t>(row),
                      .flags = kNoScript | kNoMulti | (command.is_read_only ? kReadOnly : kWrite),
                      .group = CommandGroup::kModule,
                      .syntax = command.syntax,
                      .summary = command.summary,
                      .since = library_version(),
                      .complexity = {}});
  }
}

std::optional<std::size_t> ProgramCommandTable::find(std::string_view name) const {
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    if (equal_in_any_case(name, specs_[i].name)) return i;
  }
  return std::nullopt;
}

const CommandSpec* find_command(const CommandServices& services, RequestView request) {
  const CommandSpec* const spec = find_command(request);
  // A container with an unknown subcommand is no command of the program.
  return spec != nullptr ? spec : find_of_program(services, request[0]);
}

const CommandSpec* find_full_name(const CommandServices& services, std::string_view name) {
  const CommandSpec* const spec = find_full_name(name);
  return spec != nullptr ? spec : find_of_program(services, name);
}

std::vector<const CommandSpec*> all_commands(const CommandServices& services) {
  std::vector<const CommandSpec*> specs;
  for (const CommandSpec& spec : command_table()) specs.push_back(&spec);
  if (const ProgramCommandTable* const table = services.program_commands.current()) {
    for (const CommandSpec& spec : table->specs()) specs.push_back(&spec);
  }
  return specs;
}

}  // namespace rushgate
