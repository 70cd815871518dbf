#include "engine/script/lua_context.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "engine/script/lua_errors.h"
#include "engine/script/lua_guarded_functions.h"
#include "engine/script/lua_json.h"
#include "engine/script/lua_runner.h"
#include "engine/script/lua_sandbox.h"
#include "engine/script/script_errors.h"

namespace rushgate {
namespace {

using Clock = std::chrono::steady_clock;

// A look at the time costs as much as some ten instructions of Lua; this many take about 50 µs.
constexpr int kInstructionsPerLook = 10'000;

constexpr std::chrono::milliseconds kPollInterval{3};

void* allocate(void* context, void* block, std::size_t old_size, std::size_t new_size) {
  auto& self = *static_cast<LuaContext*>(context);
  if (new_size == 0) {
    std::free(block);
    self.memory_bytes -= old_size;
    return nullptr;
  }
  const bool grows = new_size > old_size;
  if (grows && self.memory_limited &&
      self.memory_bytes + (new_size - old_size) > self.limits.memory_bytes_max) {
    self.memory_refused = true;
    return nullptr;
  }
  void* const result = std::realloc(block, new_size);
  if (result == nullptr) return grows ? nullptr : block;  // Lua relies on it that shrinking works
  self.memory_bytes += new_size - old_size;
  return result;
}

constexpr std::size_t kKeptRequestBytesMax = std::size_t{64} * 1024;

// Lua and lua-cjson count some things in an int.
constexpr std::size_t kMemoryBytesMax = std::size_t{1} << 30;

LuaLimits within_reason(LuaLimits limits) {
  limits.memory_bytes_max = std::min(limits.memory_bytes_max, kMemoryBytesMax);
  limits.cached_scripts_max = std::max<std::size_t>(limits.cached_scripts_max, 1);
  return limits;
}

std::size_t size_bytes(const Request& request) {
  if (request.empty()) return 0;
  const std::string_view last = request[request.size() - 1];
  return static_cast<std::size_t>(last.data() + last.size() - request[0].data());
}

void on_count(lua_State* lua, lua_Debug*) {
  if (LuaContext::of(lua).check_interruption()) raise_interruption(lua);
}

}  // namespace

LuaContext::LuaContext(const LuaLimits& lua_limits, BusyMonitor& busy_monitor,
                       std::shared_ptr<spdlog::logger> script_logger)
    : limits(within_reason(lua_limits)),
      monitor(busy_monitor),
      logger(std::move(script_logger)),
      result{Reply::nil(), false} {
  lua = lua_newstate(&allocate, this);  // here, where allocate() finds all members made
  if (lua == nullptr) throw std::bad_alloc();
  open_sandbox(lua);
  arm_time_limit(lua);
  runner = create_runner(lua);
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
  if (limits.busy_after_ms <= 0) return false;
  const Clock::time_point now = Clock::now();
  if (next_poll == Clock::time_point{}) {
    // The first look, a moment after the script began: a short one never looks at all.
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

void LuaContext::fail(std::exception_ptr exception_to_keep) noexcept {
  if (exception == nullptr) exception = std::move(exception_to_keep);
}

int raise_interruption(lua_State* lua) {
  // Whoever catches it, in whatever way, gets to run no instruction more.
  lua_sethook(lua, &on_count, LUA_MASKCOUNT, 1);
  return raise_error(lua, script_errors::kKilled);
}

void arm_time_limit(lua_State* lua) {
  lua_sethook(lua, &on_count, LUA_MASKCOUNT, kInstructionsPerLook);
}

// ---- A call ----

void LuaContext::begin_call(const ScriptCall& call_to_run) {
  call = &call_to_run;
  protocol = 2;
  killed = false;
  exception = nullptr;
  next_poll = {};
  arm_time_limit(lua);
  limit_memory();
}

void LuaContext::end_call() {
  call = nullptr;
  lua_settop(lua, 0);
  lift_memory_limit();
  if (std::exchange(collector_changed, false)) reset_collector(lua);
  if (std::exchange(json_changed, false)) reset_json(lua);
  command_reply = Reply::nil();
  if (size_bytes(request) > kKeptRequestBytesMax) request = Request();
}

// ---- Memory ----

void LuaContext::lift_memory_limit() {
  memory_limited = false;
  // Lua collects when the memory in use has doubled, which may be beyond the limit: then never.
  if (std::exchange(memory_refused, false)) collect_garbage();
}

void LuaContext::collect_garbage() { lua_gc(lua, LUA_GCCOLLECT, 0); }

}  // namespace rushgate
