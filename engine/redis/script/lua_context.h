// State shared by the interpreter's C functions. Private to the script module. Lua raises errors
// by longjmp, which runs no destructors. So a frame that calls into Lua must not hold C++
// objects with destructors. Strings, requests and replies that must outlast such a call are
// members here. Exceptions must not pass through Lua's frames: fail() keeps them until the
// script ends.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/redis/script/lua.h"
#include "engine/redis/script/lua_host.h"
#include "engine/redis/script/lua_memory.h"
#include "engine/redis/script/rand48.h"
#include <rushgate/reply.h>

namespace rushgate {

/// The contents of the table KEYS or ARGV while no script has changed it. The next call then writes
/// only the differences.
struct ListImage {
  std::vector<std::string_view> texts;  // strings owned by Lua; an element without data is empty

  void make_space(std::size_t count) {
    if (texts.size() < count) texts.resize(count);
  }
};

/// A number as redis.call passes it to a command.
using NumberText = std::array<char, 32>;

/// References to the globals of scripts and functions (lua_function_globals.h).
struct FunctionGlobals {
  int of_scripts = LUA_NOREF;    // behind a guard
  int of_functions = LUA_NOREF;  // likewise
  int while_called = LUA_NOREF;  // behind the latter's guard
  int while_loaded = LUA_NOREF;  // likewise
};

struct LuaContext {
  LuaContext(const LuaLimits& lua_limits, BusyMonitor& busy_monitor,
             std::shared_ptr<spdlog::logger> script_logger);
  ~LuaContext();
  LuaContext(const LuaContext&) = delete;
  LuaContext& operator=(const LuaContext&) = delete;

  /// Returns the context of `lua`, which may be a coroutine. Costs almost nothing.
  static LuaContext& of(lua_State* lua);

  // ---- Interruption: a kill, or an exception. From then on nothing lets the script go on ----

  /// Called regularly. Returns true if the script has been interrupted, or must be killed now.
  bool check_interruption() noexcept;
  /// Accounts for `steps` steps of some nanoseconds inside a C function, where no hook
  /// checks the time. At intervals, checks for a kill, and raises it in the running
  /// coroutine.
  void spend(lua_State* coroutine, std::size_t steps) {
    if (steps < steps_to_look) {
      steps_to_look -= steps;
    } else {
      look(coroutine);
    }
  }
  /// As spend(), for bytes that are copied or searched.
  void spend_on_bytes(lua_State* coroutine, std::size_t bytes) {
    constexpr std::size_t kBytesAStep = 16;
    spend(coroutine, bytes / kBytesAStep);
  }
  /// As spend(), for a traversed table besides its elements: it may have been larger before.
  void spend_on_table(lua_State* coroutine) {
    constexpr std::size_t kSteps = 1'000;
    constexpr std::size_t kBytesAStep = std::size_t{32} * 1024;  // a table has at most all of it
    spend(coroutine, kSteps + memory.large_bytes() / kBytesAStep);
  }
  void fail(std::exception_ptr exception) noexcept;
  [[nodiscard]] bool interrupted() const { return killed || exception != nullptr; }

  /// Switches to the coroutine `thread`. (The count hook belongs to one coroutine.)
  void enter(lua_State* thread) noexcept;
  /// Adjusts the checks after a change of large blocks, which change the duration of instructions.
  void pace_looks() noexcept;
  /// The count hook of the running coroutine.
  void look_and_pace(lua_State* coroutine);

  void begin_call(const ScriptCall& call);
  /// Begins to load a library, which is interrupted at `deadline`, if there is one. As a call, it
  /// ends with end_call().
  void begin_load(FunctionLibrary& library, std::optional<LoadDeadline> deadline);
  /// Undoes changes of the script that would affect other scripts.
  void end_call();

  // ---- Memory: limited while a script runs or is compiled; the host itself goes on ----
  void limit_memory() { memory.limit(); }
  void lift_memory_limit();
  void collect_garbage();
  /// Frees the code of libraries that were removed.
  void collect_library_garbage() {
    if (std::exchange(has_library_garbage, false)) collect_garbage();
  }
  /// Sets the collector's pause. Must be called when the memory in use has changed.
  void pace_collector();
  [[nodiscard]] std::size_t memory_left() const { return memory.room(); }

  // ---- Constant after construction, but for limits.busy_after_ms ----
  LuaLimits limits;
  BusyMonitor& monitor;
  const std::shared_ptr<spdlog::logger> logger;
  lua_State* lua = nullptr;
  int string_metatable = LUA_NOREF;  // the metatable visible to scripts
  int plain_globals = LUA_NOREF;     // for scripts that need no guard
  FunctionGlobals function_globals;

  LuaMemory memory;

  std::atomic<int> killings{0};  // of LuaHost::begin_killing(), from any thread

  // ---- The call that runs ----
  const ScriptCall* call = nullptr;
  lua_State* running = nullptr;
  int protocol = 2;
  bool killed = false;
  std::exception_ptr exception;
  std::chrono::steady_clock::time_point next_poll;  // zero: the time has not been checked yet
  std::size_t steps_to_look = 0;
  bool collector_changed = false;
  bool json_changed = false;

  // ---- The library that is loaded; null while a script or function runs ----
  FunctionLibrary* library = nullptr;
  std::optional<LoadDeadline> load_deadline;

  bool has_library_garbage = false;

  // ---- KEYS and ARGV of the last call ----
  ListImage keys;
  ListImage argv;
  bool lists_outdated = true;  // the images are out of date: the next call gets new tables

  // ---- Of redis.call: kept from call to call for their memory ----
  std::vector<std::string_view> arguments;  // size of the largest call so far
  std::vector<NumberText> number_texts;     // the numbers among `arguments`
  Reply command_reply;

  LuaResult result{Reply::nil(), false};  // the script's result

  std::uint32_t commands_called = 0;
  Rand48 random{0x1234ABCD};  // as on a fresh Redis

 private:
  [[nodiscard]] int instructions_per_look() const noexcept;
  void look(lua_State* coroutine);
};

/// Raises the error of an interruption. Like all functions that raise, used as `return raise_…`.
int raise_interruption(lua_State* lua);

}  // namespace rushgate
