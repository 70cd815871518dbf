// What the interpreter's C functions share. Private to the script room.
//
// Lua reports errors by longjmp, which runs no destructors. So no C++ object that has one lives in
// a frame that calls into Lua: texts, requests and replies that must outlast such a call stand
// here. And no exception passes through Lua's frames: fail() keeps it until the script is over.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>

#include "engine/client/reply.h"
#include "engine/client/request.h"
#include "engine/script/lua.h"
#include "engine/script/lua_host.h"
#include "engine/script/rand48.h"

namespace rushgate {

struct LuaContext {
  LuaContext(const LuaLimits& lua_limits, BusyMonitor& busy_monitor,
             std::shared_ptr<spdlog::logger> script_logger);
  ~LuaContext();
  LuaContext(const LuaContext&) = delete;
  LuaContext& operator=(const LuaContext&) = delete;

  /// The one that `lua`, or the coroutine `lua`, belongs to. Costs next to nothing.
  static LuaContext& of(lua_State* lua);

  // ---- Interruption: a kill, or an exception. From then on nothing lets the script go on ----

  /// To be asked now and then: has the script been interrupted, or is it killed now?
  bool check_interruption() noexcept;
  void fail(std::exception_ptr exception) noexcept;
  [[nodiscard]] bool interrupted() const { return killed || exception != nullptr; }

  void begin_call(const ScriptCall& call);
  /// Makes good what the script may have left changed for others.
  void end_call();

  // ---- Memory: limited while a script runs or is compiled; the host itself goes on ----
  void limit_memory() { memory_limited = true; }
  void lift_memory_limit();
  void collect_garbage();
  [[nodiscard]] std::size_t memory_room() const {
    return limits.memory_bytes_max - std::min(memory_bytes, limits.memory_bytes_max);
  }

  // ---- Constant after construction ----
  const LuaLimits limits;
  BusyMonitor& monitor;
  const std::shared_ptr<spdlog::logger> logger;
  lua_State* lua = nullptr;
  int runner = LUA_NOREF;            // the function that runs scripts (lua_runner.h)
  int string_metatable = LUA_NOREF;  // what scripts see of it

  // ---- Memory ----
  std::size_t memory_bytes = 0;
  bool memory_limited = false;
  bool memory_refused = false;  // since limit_memory()

  // ---- The call that runs ----
  const ScriptCall* call = nullptr;
  int protocol = 2;
  bool killed = false;
  std::exception_ptr exception;
  std::chrono::steady_clock::time_point next_poll;  // zero: the time has not been looked at yet
  bool collector_changed = false;
  bool json_changed = false;

  // ---- Kept from call to call for their memory ----
  Request request;      // of redis.call
  Reply command_reply;  // its answer
  LuaResult result;     // what the script ended with

  std::uint32_t commands_called = 0;
  std::uint32_t scripts_run = 0;
  Rand48 random{0x1234ABCD};  // as on a fresh Redis
};

/// Raises the error of an interruption. Like all functions that raise, written `return raise_…`.
int raise_interruption(lua_State* lua);

/// Sets how often the count hook looks at the time; to be done for each call anew.
void arm_time_limit(lua_State* lua);

}  // namespace rushgate
