// What the interpreter's C functions share. Private to the script room.
//
// Lua reports errors by longjmp, which runs no destructors. So no C++ object that has one lives in
// a frame that calls into Lua: texts, requests and replies that must outlast such a call stand
// here. And no exception passes through Lua's frames: fail() keeps it until the script is over.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/client/reply.h"
#include "engine/script/lua.h"
#include "engine/script/lua_host.h"
#include "engine/script/lua_memory.h"
#include "engine/script/rand48.h"

namespace rushgate {

/// What stands in the table KEYS, or ARGV, as long as no script has touched it: the next call
/// writes only what is different.
struct ListImage {
  std::vector<std::string_view> texts;  // of Lua's strings; without data: nothing stands there

  void make_room(std::size_t count) {
    if (texts.size() < count) texts.resize(count);
  }
};

/// A number as redis.call passes it to a command.
using NumberText = std::array<char, 32>;

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
  /// So many steps of some nanoseconds were done inside a C function, where no hook looks at the
  /// time, or are about to be. Now and then asks whether the script is killed, and raises that in
  /// the coroutine that runs.
  void spend(lua_State* coroutine, std::size_t steps) {
    if (steps < steps_to_look) {
      steps_to_look -= steps;
    } else {
      look(coroutine);
    }
  }
  /// The same for so many bytes that are copied or searched.
  void spend_on_bytes(lua_State* coroutine, std::size_t bytes) {
    constexpr std::size_t kBytesAStep = 16;
    spend(coroutine, bytes / kBytesAStep);
  }
  /// The same for a table that is gone through, besides its elements: it may have been full once.
  void spend_on_table(lua_State* coroutine) {
    constexpr std::size_t kSteps = 1'000;
    constexpr std::size_t kBytesAStep = std::size_t{32} * 1024;  // a table has no more than all
    spend(coroutine, kSteps + memory.large_bytes() / kBytesAStep);
  }
  void fail(std::exception_ptr exception) noexcept;
  [[nodiscard]] bool interrupted() const { return killed || exception != nullptr; }

  /// The coroutine `thread` runs from now on. (The count hook belongs to one.)
  void enter(lua_State* thread) noexcept;
  /// Large blocks came or went: an instruction may take more or less time.
  void pace_looks() noexcept;
  /// What the count hook does in the coroutine that runs.
  void look_and_pace(lua_State* coroutine);

  void begin_call(const ScriptCall& call);
  /// Makes good what the script may have left changed for others.
  void end_call();

  // ---- Memory: limited while a script runs or is compiled; the host itself goes on ----
  void limit_memory() { memory.limit(); }
  void lift_memory_limit();
  void collect_garbage();
  /// Tells the collector how much garbage to wait for; to be done when what is in use has changed.
  void pace_collector();
  [[nodiscard]] std::size_t memory_room() const { return memory.room(); }

  // ---- Constant after construction, but for limits.busy_after_ms ----
  LuaLimits limits;
  BusyMonitor& monitor;
  const std::shared_ptr<spdlog::logger> logger;
  lua_State* lua = nullptr;
  int string_metatable = LUA_NOREF;  // what scripts see of it
  int plain_globals = LUA_NOREF;     // of scripts that need no guard

  LuaMemory memory;

  std::atomic<int> killings{0};  // of LuaHost::begin_killing(), from any thread

  // ---- The call that runs ----
  const ScriptCall* call = nullptr;
  lua_State* running = nullptr;
  int protocol = 2;
  bool killed = false;
  std::exception_ptr exception;
  std::chrono::steady_clock::time_point next_poll;  // zero: the time has not been looked at yet
  std::size_t steps_to_look = 0;
  bool collector_changed = false;
  bool json_changed = false;

  // ---- KEYS and ARGV of the last call ----
  ListImage keys;
  ListImage argv;
  bool lists_touched = true;  // not as the images say: the next call gets new tables

  // ---- Of redis.call: kept from call to call for their memory ----
  std::vector<std::string_view> arguments;  // as many as any call has had
  std::vector<NumberText> number_texts;     // those of `arguments` that are numbers
  Reply command_reply;

  LuaResult result{Reply::nil(), false};  // what the script ended with

  std::uint32_t commands_called = 0;
  Rand48 random{0x1234ABCD};  // as on a fresh Redis

 private:
  [[nodiscard]] int instructions_per_look() const noexcept;
  void look(lua_State* coroutine);
};

/// Raises the error of an interruption. Like all functions that raise, written `return raise_…`.
int raise_interruption(lua_State* lua);

}  // namespace rushgate
