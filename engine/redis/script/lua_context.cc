#include "engine/redis/script/lua_context.h"

#include <algorithm>
#include <new>
#include <utility>

#include "engine/redis/script/lua_errors.h"
#include "engine/redis/script/lua_guarded_functions.h"
#include "engine/redis/script/lua_json.h"
#include "engine/redis/script/lua_runner.h"
#include "engine/redis/script/lua_sandbox.h"
#include "engine/redis/script/script_errors.h"

namespace rushgate {
namespace {

using Clock = std::chrono::steady_clock;

// A check of the time costs about ten instructions of Lua; this number takes about 50 µs.
constexpr int kInstructionsPerLook = 10'000;

// One instruction may read or copy a string of any size (concatenation, comparison, arithmetic),
// and a function may traverse an empty table of any capacity. Instructions that do so for this many
// bytes take less than a second.
constexpr std::size_t kBytesPerLook = std::size_t{512} << 20;

constexpr std::chrono::milliseconds kPollInterval{3};

void* allocate(void* context, void* block, std::size_t old_size, std::size_t new_size) {
  auto& lua_context = *static_cast<LuaContext*>(context);
  void* const resized = lua_context.memory.resize(block, old_size, new_size);
  if (LuaMemory::concerns_large_block(old_size, new_size)) lua_context.pace_looks();
  return resized;
}

constexpr std::size_t kKeptReplyBytesMax = std::size_t{64} * 1024;

// Lua and lua-cjson count some things in an int.
constexpr std::size_t kMemoryBytesMax = std::size_t{1} << 30;

LuaLimits within_reason(LuaLimits limits) {
  limits.memory_bytes_max = std::min(limits.memory_bytes_max, kMemoryBytesMax);
  limits.cached_scripts_max = std::max<std::size_t>(limits.cached_scripts_max, 1);
  return limits;
}

void on_count(lua_State* lua, lua_Debug*) { LuaContext::of(lua).look_and_pace(lua); }

void set_count_hook(lua_State* lua, int instructions) {
  lua_sethook(lua, &on_count, LUA_MASKCOUNT, instructions);
}

}  // namespace

LuaContext::LuaContext(const LuaLimits& lua_limits, BusyMonitor& busy_monitor,
                       std::shared_ptr<spdlog::logger> script_logger)
    : limits(within_reason(lua_limits)),
      monitor(busy_monitor),
      logger(std::move(script_logger)),
      memory(limits.memory_bytes_max) {
  lua = lua_newstate(&allocate, this);  // here, where allocate() finds all members made
  if (lua == nullptr) throw std::bad_alloc();
  open_sandbox(lua);
  push_runner(lua);
  collect_garbage();
  set_count_hook(lua, kInstructionsPerLook);
}

LuaContext::~LuaContext() { lua_close(lua); }

LuaContext& LuaContext::of(lua_State* lua) {
  void* context = nullptr;
  lua_getallocf(lua, &context);
  return *static_cast<LuaContext*>(context);
}

// ---- Interruption ----

bool LuaContext::check_interruption() noexcept {
  if (interrupted()) return true;
  if (killings.load(std::memory_order_relaxed) != 0) return killed = true;
  if (library != nullptr) return killed = load_deadline && Clock::now() >= *load_deadline;
  if (limits.busy_after_ms <= 0) return false;
  const Clock::time_point now = Clock::now();
  if (next_poll == Clock::time_point{}) {
    // The first check comes a moment after the script began, so short scripts never check.
    next_poll = now + std::chrono::milliseconds(limits.busy_after_ms);
    return false;
  }
  if (now < next_poll) return false;
  try {
    killed = monitor.poll();
  } catch (...) {
    fail(std::current_exception());
  }
  next_poll = Clock::now() + kPollInterval;
  return interrupted();
}

void LuaContext::look(lua_State* coroutine) {
  constexpr std::size_t kStepsPerLook = 10'000;
  steps_to_look = kStepsPerLook;
  if (check_interruption()) raise_interruption(coroutine);
}

void LuaContext::fail(std::exception_ptr exception_to_keep) noexcept {
  if (exception == nullptr) exception = std::move(exception_to_keep);
}

int raise_interruption(lua_State* lua) {
  // If the script catches it, no further instruction runs.
  set_count_hook(lua, 1);
  return raise_error(lua, script_errors::kKilled);
}

int LuaContext::instructions_per_look() const noexcept {
  if (memory.large_bytes() == 0) return kInstructionsPerLook;
  const std::size_t instructions = kBytesPerLook / memory.large_bytes();
  return static_cast<int>(std::clamp<std::size_t>(instructions, 1, kInstructionsPerLook));
}

void LuaContext::look_and_pace(lua_State* coroutine) {
  running = coroutine;
  if (check_interruption()) raise_interruption(coroutine);
  const int instructions = instructions_per_look();
  if (lua_gethookcount(coroutine) != instructions) set_count_hook(coroutine, instructions);
}

void LuaContext::enter(lua_State* thread) noexcept {
  running = thread;
  pace_looks();
}

void LuaContext::pace_looks() noexcept {
  if (running == nullptr || interrupted()) return;
  // Setting the hook restarts its count. So the hook runs at once and sets the count; a series of
  // changes cannot postpone the check.
  if (lua_gethookcount(running) != instructions_per_look()) set_count_hook(running, 1);
}

// ---- A call ----

void LuaContext::begin_call(const ScriptCall& call_to_run) {
  keys.make_space(call_to_run.keys.size());
  argv.make_space(call_to_run.arguments.size());
  call = &call_to_run;
  protocol = 2;
  next_poll = {};
  running = lua;
  limit_memory();
}

void LuaContext::begin_load(FunctionLibrary& library_to_load,
                            std::optional<LoadDeadline> deadline) {
  library = &library_to_load;
  load_deadline = deadline;
  running = lua;
  limit_memory();
}

void LuaContext::end_call() {
  call = nullptr;
  library = nullptr;
  running = nullptr;
  leave_runner_alone(lua);
  lift_memory_limit();
  if (lua_gethookcount(lua) != instructions_per_look()) {
    set_count_hook(lua, instructions_per_look());
  }
  killed = false;
  if (std::exchange(collector_changed, false)) reset_collector(lua);
  if (std::exchange(json_changed, false)) reset_json(lua);
  if (command_reply.is_aggregate() ||
      (command_reply.has_text() && command_reply.text().size() > kKeptReplyBytesMax)) {
    command_reply = Reply::nil();
  }
}

// ---- Memory ----

void LuaContext::lift_memory_limit() {
  // Lua collects when the memory in use has doubled. That may exceed the limit: then it never
  // would.
  if (memory.lift_limit()) collect_garbage();
}

void LuaContext::collect_garbage() {
  pace_collector();
  lua_gc(lua, LUA_GCCOLLECT, 0);
}

void LuaContext::pace_collector() {
  // Lua's default: the growth, in per cent of the memory in use, before the next collection. That
  // is little in an interpreter that holds little more than its libraries.
  constexpr std::size_t kLuaDefault = 200;
  constexpr std::size_t kGarbageBytes = std::size_t{128} * 1024;
  const std::size_t garbage = std::min(kGarbageBytes, limits.memory_bytes_max / 8);
  const std::size_t pause = 100 + 100 * garbage / std::max<std::size_t>(memory.bytes(), 1);
  lua_gc(lua, LUA_GCSETPAUSE, static_cast<int>(std::max(kLuaDefault, pause)));
}

}  // namespace rushgate
