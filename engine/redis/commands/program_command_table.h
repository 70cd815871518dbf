// The records of a program's commands, and the look-up of commands that includes them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/redis/commands/command_table.h"
#include <rushgate/program_commands.h>

namespace rushgate {

/// The records of a program's commands. Constant after make().
class ProgramCommandTable {
 public:
  /// kInvalidArgument: there are too many, or one has the name of another command, or no valid one.
  static absl::StatusOr<std::shared_ptr<const ProgramCommandTable>> make(
      std::vector<ProgramCommand> commands);

  ProgramCommandTable(const ProgramCommandTable&) = delete;
  ProgramCommandTable& operator=(const ProgramCommandTable&) = delete;

  [[nodiscard]] std::span<const CommandSpec> specs() const { return specs_; }
  /// Returns the index of the command with this name, in any case.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;

 private:
  explicit ProgramCommandTable(std::vector<ProgramCommand> commands);

  const std::vector<ProgramCommand> commands_;  // specs_ have views of them
  std::vector<CommandSpec> specs_;
};

// ---- As in command_table.h, but with the program's commands ----

const CommandSpec* find_command(const CommandServices& services, RequestView request);
const CommandSpec* find_full_name(const CommandServices& services, std::string_view name);
/// Returns the records of the command table, then those of the program.
std::vector<const CommandSpec*> all_commands(const CommandServices& services);

}  // namespace rushgate
