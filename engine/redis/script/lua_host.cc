#include "engine/redis/script/lua_host.h"

#include <exception>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "engine/core/base/sha1.h"
#include "engine/redis/script/function_errors.h"
#include "engine/redis/script/function_library.h"
#include "engine/redis/script/function_registry.h"
#include "engine/redis/script/library_source.h"
#include "engine/redis/script/lua_context.h"
#include "engine/redis/script/lua_conversion.h"
#include "engine/redis/script/lua_function_globals.h"
#include "engine/redis/script/lua_globals.h"
#include "engine/redis/script/lua_runner.h"
#include "engine/redis/script/script_cache.h"
#include "engine/redis/script/script_errors.h"
#include "engine/redis/script/shebang.h"

namespace rushgate {
namespace {

// As Redis names it; errors say "user_script:<line>: …".
constexpr const char* kScriptChunk = "@user_script";
constexpr const char* kLibraryChunk = "@user_function";

void forget_oldest(ScriptCache& scripts, lua_State* lua) {
  luaL_unref(lua, LUA_REGISTRYINDEX, scripts.take_oldest().function);
}

/// Compiles `body`. Leaves the function or the error message on the stack.
int compile(LuaContext& context, std::string_view body, const char* chunk_name) {
  context.limit_memory();
  const int status = load_text(context.lua, body, chunk_name);
  context.lift_memory_limit();
  return status;
}

/// As above. If memory is short, frees garbage, then cached scripts.
int compile(LuaContext& context, ScriptCache& scripts, std::string_view body,
            const char* chunk_name) {
  int status = compile(context, body, chunk_name);
  for (bool garbage_gone = false; status == LUA_ERRMEM; garbage_gone = true) {
    if (garbage_gone && scripts.size() == 0) break;
    lua_pop(context.lua, 1);
    if (garbage_gone) {
      for (std::size_t left = scripts.size() / 2; scripts.size() > left;) {
        forget_oldest(scripts, context.lua);
      }
    }
    context.collect_garbage();
    status = compile(context, body, chunk_name);
  }
  return status;
}

/// Runs the compiled library on top of the stack. Returns false and sets `error` if it fails.
bool register_functions(LuaContext& context, FunctionLibrary& library,
                        std::optional<LoadDeadline> deadline, Reply& error) {
  context.begin_load(library, deadline);
  const bool has_memory = library.charge_code();
  if (has_memory) run_library(context);
  context.end_call();
  if (context.exception != nullptr) {
    std::rethrow_exception(std::exchange(context.exception, nullptr));
  }
  if (!has_memory) {
    error = Reply::error(function_errors::not_compiled(script_errors::kOutOfMemory));
  } else if (context.result.failed) {
    const std::string& reason = context.result.reply.text();
    error = Reply::error(function_errors::not_registered(
        context.result.killed ? function_errors::kLoadTimeout : reason));
  } else if (library.functions().empty()) {
    error = function_errors::no_functions();
  } else {
    return true;
  }
  return false;
}

}  // namespace

LuaHost::LuaHost(const LuaLimits& limits, BusyMonitor& monitor,
                 std::shared_ptr<spdlog::logger> logger)
    : context_(std::make_shared<LuaContext>(limits, monitor, std::move(logger))),
      scripts_(std::make_unique<ScriptCache>()),
      functions_(std::make_unique<FunctionRegistry>()) {}

LuaHost::~LuaHost() = default;

const LuaScript* LuaHost::load(std::string_view text, Reply& error) {
  std::string sha1 = sha1_hex(text);
  if (const LuaScript* const cached = scripts_->find(sha1)) return cached;
  const std::optional<Shebang> shebang = parse_shebang(text, error);
  if (!shebang) return nullptr;

  lua_State* const lua = context_->lua;
  if (compile(*context_, *scripts_, shebang->body, kScriptChunk) != 0) {
    error = script_errors::not_compiled(error_line(lua_tostring(lua, -1)));
    lua_pop(lua, 1);
    return nullptr;
  }
  while (scripts_->size() >= context_->limits.cached_scripts_max) {
    forget_oldest(*scripts_, lua);
  }
  const GlobalUse use = resolve_globals(lua);
  const int function = luaL_ref(lua, LUA_REGISTRYINDEX);
  context_->pace_collector();
  return &scripts_->insert({std::move(sha1), shebang->flags, function, use});
}

const LuaScript* LuaHost::find(std::string_view sha1) { return scripts_->find(sha1); }

bool LuaHost::knows(std::string_view sha1) const { return scripts_->contains(sha1); }

std::size_t LuaHost::cached_scripts() const { return scripts_->size(); }

void LuaHost::flush() {
  while (scripts_->size() > 0) forget_oldest(*scripts_, context_->lua);
  context_->collect_garbage();
}

std::shared_ptr<const FunctionLibrary> LuaHost::load_library(const LibrarySource& source,
                                                             std::optional<LoadDeadline> deadline,
                                                             Reply& error) {
  lua_State* const lua = context_->lua;
  auto library = std::make_shared<FunctionLibrary>(context_, source.name, std::string(source.code));
  context_->collect_library_garbage();
  use_globals_of_load(lua);
  const absl::Cleanup restore_globals = [lua] { use_globals_of_scripts(lua); };
  if (compile(*context_, *scripts_, source.body, kLibraryChunk) != 0) {
    error = Reply::error(function_errors::not_compiled(error_line(lua_tostring(lua, -1))));
    lua_pop(lua, 1);
    return nullptr;
  }
  if (!register_functions(*context_, *library, deadline, error)) return nullptr;
  context_->pace_collector();
  return library;
}

template <class Code>
LuaResult LuaHost::run_code(const Code& code, const ScriptCall& call) {
  context_->collect_library_garbage();
  context_->begin_call(call);
  runs_.store(true, std::memory_order_relaxed);
  if constexpr (std::is_same_v<Code, LuaScript>) {
    run_script(*context_, code);
  } else {
    run_function(*context_, code);
  }
  context_->end_call();
  runs_.store(false, std::memory_order_relaxed);
  if (context_->exception != nullptr) {
    std::rethrow_exception(std::exchange(context_->exception, nullptr));
  }
  return std::move(context_->result);
}

LuaResult LuaHost::run(const LuaScript& script, const ScriptCall& call) {
  return run_code(script, call);
}

LuaResult LuaHost::run(const LuaFunction& function, const ScriptCall& call) {
  return run_code(function, call);
}

void LuaHost::begin_killing() noexcept { ++context_->killings; }
void LuaHost::end_killing() noexcept { --context_->killings; }

std::int64_t LuaHost::busy_after_ms() const { return context_->limits.busy_after_ms; }

void LuaHost::set_busy_after_ms(std::int64_t busy_after_ms) {
  context_->limits.busy_after_ms = busy_after_ms;
}

std::size_t LuaHost::memory_bytes() const { return context_->memory.bytes(); }

std::size_t LuaHost::memory_bytes_max() const { return context_->limits.memory_bytes_max; }

}  // namespace rushgate
