#include "engine/redis/commands/statistics.h"

#include <cstddef>

#include "engine/redis/commands/command_table.h"
#include <rushgate/program_commands.h>

namespace rushgate {
namespace {

/// Returns the code of an error message, ERR if it has none.
std::string_view code_of(std::string_view text) {
  constexpr std::size_t kCodeBytesMax = 30;
  const std::size_t end = text.substr(0, kCodeBytesMax + 1).find(' ');
  return end == std::string_view::npos ? "ERR" : text.substr(0, end);
}

}  // namespace

void ErrorCounts::note(std::string_view text) {
  constexpr std::size_t kCodesMax = 128;
  ++total_;
  const std::string code(code_of(text));
  if (by_code_.size() < kCodesMax || by_code_.contains(code)) ++by_code_[code];
}

StatisticsByCommand::StatisticsByCommand()
    : rows_(command_table().size() + ProgramCommands::kCommandsMax) {}

std::size_t StatisticsByCommand::row_of(const CommandSpec& spec) { return spec.row; }

}  // namespace rushgate
