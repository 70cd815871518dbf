// What a running script, Lua or native, has to do with the rest of the engine.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/client/reply.h"
#include "engine/client/request.h"

namespace rushgate {

/// Runs the commands that a script calls, within the script's own turn.
class CommandCaller {
 public:
  virtual ~CommandCaller() = default;

  /// Views are valid during the call. Errors are values. Kinds that only RESP3 has may occur under
  /// either protocol; the host converts them.
  virtual Reply call(RequestView request) = 0;

  /// The protocol, 2 or 3, in whose shape commands answer from now on (redis.setresp). 2 at first.
  virtual void set_protocol(int protocol) = 0;

  /// Are commands that take memory refused now? (maxmemory; not once the script has written.)
  [[nodiscard]] virtual bool refuses_growth() const { return false; }
};

/// Asked while a script has been running for longer than its limit, some hundred times a second.
class BusyMonitor {
 public:
  virtual ~BusyMonitor() = default;

  /// Answers those who wait (BUSY); true once the script is to be stopped (SCRIPT KILL).
  virtual bool poll() = 0;
};

/// One call of a script. Views are valid during the call.
struct ScriptCall {
  std::span<const std::string_view> keys;
  std::span<const std::string_view> arguments;
  std::int64_t now_ms;  // frozen
  CommandCaller& caller;
};

}  // namespace rushgate
