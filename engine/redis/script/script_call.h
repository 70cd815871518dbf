// The interfaces between a running script, Lua or native, and the engine.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <rushgate/reply.h>
#include <rushgate/request.h>

namespace rushgate {

/// Runs the commands of a script, within the script's turn.
class CommandCaller {
 public:
  virtual ~CommandCaller() = default;

  /// Runs a command. Views are valid during the call. Errors are replies. Under either protocol the
  /// reply may have RESP3's kinds; the host converts them.
  virtual Reply call(RequestView request) = 0;

  /// Returns true if the command exists. (redis.acl_check_cmd)
  [[nodiscard]] virtual bool knows(RequestView request) const = 0;

  /// Sets the protocol (2 or 3) of the replies (redis.setresp). Initially 2.
  virtual void set_protocol(int protocol) = 0;

  /// Returns true if maxmemory refuses growth now. False once the script has written.
  [[nodiscard]] virtual bool refuses_growth() const { return false; }
  /// Reports that the script has written other than by call().
  virtual void note_write() {}
};

/// Called about a hundred times a second while a script exceeds its time limit.
class BusyMonitor {
 public:
  virtual ~BusyMonitor() = default;

  /// Replies BUSY to waiting clients. Returns true if the script must stop (SCRIPT KILL).
  virtual bool poll() = 0;
};

/// One call of a script. Views are valid during the call.
struct ScriptCall {
  std::span<const std::string_view> keys;
  std::span<const std::string_view> arguments;
  std::int64_t now_ms;  // constant during the script
  CommandCaller& caller;
};

}  // namespace rushgate
