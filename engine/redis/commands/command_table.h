// The table of all commands. It concatenates the records at the ends of the families' files.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "engine/redis/commands/command_spec.h"
#include <rushgate/request.h>

namespace rushgate {

/// Returns all records. Subcommands follow their container.
std::span<const CommandSpec> command_table();

/// Returns a command's record by name, in any case; null if there is none. Skips subcommands.
const CommandSpec* find_command(std::string_view name);
/// Returns the record of the request's command, or of its subcommand if the command is a container
/// with arguments; null if there is none.
const CommandSpec* find_command(RequestView request);
/// Returns the record of `name`, which may be a subcommand's: "client|id".
const CommandSpec* find_full_name(std::string_view name);

/// Returns the records of a container's subcommands; none for other commands.
std::span<const CommandSpec> subcommands_of(const CommandSpec& container);
inline bool is_subcommand(const CommandSpec& spec) {
  return spec.name.find('|') != std::string_view::npos;
}

/// Returns the keys of a request for the command `spec`; empty if the arguments are invalid. The arity
/// must fit.
std::vector<FoundKey> find_keys(const CommandSpec& spec, RequestView request);

bool arity_fits(const CommandSpec& spec, std::size_t arguments);

/// Returns the names of COMMAND INFO, in its order.
std::vector<std::string_view> flag_names(const CommandSpec& spec);
std::string_view group_name(CommandGroup group);

}  // namespace rushgate
