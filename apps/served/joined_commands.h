// The commands of several parts of a program, for the one place that a server has for them.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <rushgate/program_commands.h>

namespace rushgate {

/// As thread-safe as its parts.
class JoinedCommands final : public ProgramCommands {
 public:
  explicit JoinedCommands(std::vector<std::shared_ptr<ProgramCommands>> parts)
      : parts_(std::move(parts)) {
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      std::size_t index = 0;
      for (ProgramCommand& command : parts_[part]->commands()) {
        commands_.push_back(std::move(command));
        places_.emplace_back(part, index++);
      }
    }
  }

  [[nodiscard]] std::vector<ProgramCommand> commands() const override { return commands_; }
  void begin(std::size_t command, int database, std::span<const Request> requests,
             Completion completion) override {
    const auto [part, index] = places_[command];
    parts_[part]->begin(index, database, requests, std::move(completion));
  }

 private:
  const std::vector<std::shared_ptr<ProgramCommands>> parts_;
  std::vector<ProgramCommand> commands_;
  std::vector<std::pair<std::size_t, std::size_t>> places_;  // of commands_: part, index in it
};

}  // namespace rushgate
