// Commands that a program serves to Redis clients, in addition to Redis's own.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include <rushgate/reply.h>
#include <rushgate/request.h>

namespace rushgate {

/// A command of a program, as COMMAND and COMMAND DOCS describe it. It has no keys, and is refused
/// in MULTI and in scripts.
struct ProgramCommand {
  std::string name = {};     // in lower case, and none of Redis's
  int arity = 1;             // with the name; negative: at least that many
  bool is_read_only = true;  // false: it writes
  std::string syntax = {};   // of its arguments: "voucher user [QUANTITY pieces]"
  std::string summary = {};
};

/// The commands of a program, for RespServerOptions::commands. The server's thread calls its
/// functions.
class ProgramCommands {
 public:
  static constexpr std::size_t kCommandsMax = 32;

  /// Takes the replies to all requests, in their order. Thread-safe; call it exactly once.
  using Completion = absl::AnyInvocable<void(std::vector<Reply> replies)>;

  virtual ~ProgramCommands() = default;

  /// Returns at most kCommandsMax commands, always the same.
  [[nodiscard]] virtual std::vector<ProgramCommand> commands() const = 0;
  /// Begins to serve requests that one client sent in a row: calls of the command with this index,
  /// whose arities fit. `database` is the one that the client has selected. Must return at once,
  /// and must not throw. The client's next requests wait until `completion` is called, possibly
  /// inside this call. `requests` stay valid until then.
  virtual void begin(std::size_t command, int database, std::span<const Request> requests,
                     Completion completion) = 0;
};

}  // namespace rushgate
