#include "engine/redis/script/lua_redis_api.h"

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "engine/core/base/concat.h"
#include "engine/core/base/log.h"
#include "engine/core/base/sha1.h"
#include "engine/core/base/version.h"
#include "engine/redis/script/lua_context.h"
#include "engine/redis/script/lua_conversion.h"
#include "engine/redis/script/lua_errors.h"
#include "engine/redis/script/script_errors.h"

namespace rushgate {
namespace {

// ---- redis.call, redis.pcall ----

// A script may spend its time in slow commands, which the count hook does not see.
constexpr std::uint32_t kCommandsPerLook = 64;

/// Collects views of the arguments on the stack in `request`. Returns an error message, or null.
/// Calls no Lua function that raises errors, because C++ may throw here.
const char* collect_request(lua_State* lua, LuaContext& context, RequestView& request) {
  const auto count = static_cast<std::size_t>(lua_gettop(lua));
  if (count == 0) return script_errors::kNoArguments;
  if (context.arguments.size() < count) context.arguments.resize(count);
  std::string_view* const arguments = context.arguments.data();
  std::size_t bytes_left = context.limits.memory_bytes_max;
  for (std::size_t i = 0; i < count; ++i) {
    const int index = static_cast<int>(i) + 1;
    const int type = lua_type(lua, index);
    if (type == LUA_TNUMBER) {
      if (context.number_texts.size() < count) context.number_texts.resize(count);
      arguments[i] = write_number(lua_tonumber(lua, index), context.number_texts[i]);
      continue;
    }
    if (type != LUA_TSTRING) return script_errors::kArgumentType;
    arguments[i] = string_at(lua, index);
    if (arguments[i].size() > bytes_left) return script_errors::kRequestTooLarge;
    bytes_left -= arguments[i].size();
  }
  request = {arguments, count};
  return nullptr;
}

/// Moves the command's reply to LuaContext::command_reply, without a temporary.
void take_reply(LuaContext& context, RequestView request) {
  Reply* const reply = &context.command_reply;
  if (reply->has_text() || reply->is_aggregate()) std::destroy_at(reply);  // others hold nothing
  try {
    ::new (reply) Reply(context.call->caller.call(request));
  } catch (...) {
    ::new (reply) Reply();
    throw;
  }
}

/// Runs the command. Returns an error message, or null. LuaContext::command_reply is the reply
/// then, unless the script was interrupted.
const char* run_command(lua_State* lua, LuaContext& context) noexcept {
  try {
    RequestView request;
    if (const char* const fault = collect_request(lua, context, request)) return fault;
    take_reply(context, request);
  } catch (...) {
    context.fail(std::current_exception());
  }
  return nullptr;
}

/// Pushes the reply; returns true if it is an error.
bool call_command(lua_State* lua) {
  LuaContext& context = LuaContext::of(lua);
  const char* const fault = run_command(lua, context);
  const bool look = ++context.commands_called % kCommandsPerLook == 0;
  if (context.interrupted() || (look && context.check_interruption())) raise_interruption(lua);
  if (fault != nullptr) {
    push_error(lua, fault);
    return true;
  }
  push_reply(lua, context.command_reply, context.protocol);
  if (!context.command_reply.is_error()) return false;
  lua_pushboolean(lua, 1);
  lua_setfield(lua, -2, kIsCounted);
  return true;
}

/// redis.call(command, argument, …)
int call(lua_State* lua) { return call_command(lua) ? lua_error(lua) : 1; }

/// redis.pcall(command, argument, …)
int pcall(lua_State* lua) {
  call_command(lua);
  return 1;
}

/// redis.acl_check_cmd(command, argument, …): the only user may run all commands.
int acl_check_cmd(lua_State* lua) {
  LuaContext& context = LuaContext::of(lua);
  const char* fault = nullptr;
  try {
    RequestView request;
    fault = collect_request(lua, context, request);
    if (fault == nullptr && !context.call->caller.knows(request)) {
      fault = script_errors::kUnknownToCheck;
    }
  } catch (...) {
    context.fail(std::current_exception());
  }
  if (context.interrupted()) return raise_interruption(lua);
  if (fault != nullptr) return raise_error(lua, fault);
  lua_pushboolean(lua, 1);
  return 1;
}

// ---- Replies ----

/// redis.status_reply(message)
int status_reply(lua_State* lua) {
  if (lua_gettop(lua) != 1 || lua_type(lua, 1) != LUA_TSTRING) {
    push_error(lua, script_errors::kWrongArguments);
    return 1;
  }
  lua_createtable(lua, 0, 1);
  lua_pushvalue(lua, 1);
  lua_setfield(lua, -2, "ok");
  return 1;
}

/// redis.error_reply(message): a message of one word gets a code.
int error_reply(lua_State* lua) {
  if (lua_gettop(lua) != 1 || lua_type(lua, 1) != LUA_TSTRING) {
    push_error(lua, script_errors::kWrongArguments);
    return 1;
  }
  std::string_view text = lua_tostring(lua, 1);  // up to a zero byte, as in Redis
  if (text.starts_with('-')) text.remove_prefix(1);
  const std::size_t space = text.find(' ');
  const bool has_code = space != std::string_view::npos;
  const std::string_view code = has_code ? text.substr(0, space) : "ERR";
  std::string_view message = has_code ? text.substr(space + 1) : text;
  while (message.starts_with('\r') || message.starts_with('\n')) message.remove_prefix(1);
  while (message.ends_with('\r') || message.ends_with('\n')) message.remove_suffix(1);
  lua_createtable(lua, 0, 1);
  lua_pushlstring(lua, code.data(), code.size());
  lua_pushstring(lua, " ");
  lua_pushlstring(lua, message.data(), message.size());
  lua_concat(lua, 3);
  lua_setfield(lua, -2, "err");
  return 1;
}

// ---- Tools ----

/// redis.sha1hex(string)
int sha1hex(lua_State* lua) {
  if (lua_gettop(lua) != 1) return raise_error(lua, script_errors::kArgumentCount);
  const std::string_view text = string_at(lua, 1);  // empty for other types
  LuaContext& context = LuaContext::of(lua);
  char digits[40] = {};
  try {
    const std::string digest = sha1_hex(text);
    std::copy_n(digest.data(), std::min(digest.size(), sizeof(digits)), digits);
  } catch (...) {
    context.fail(std::current_exception());
  }
  if (context.interrupted()) return raise_interruption(lua);
  lua_pushlstring(lua, digits, sizeof(digits));
  return 1;
}

constexpr LogLevel kLogLevels[] = {
    LogLevel::kTrace,    // LOG_DEBUG
    LogLevel::kDebug,    // LOG_VERBOSE
    LogLevel::kInfo,     // LOG_NOTICE
    LogLevel::kWarning,  // LOG_WARNING
};

/// Logs all arguments after the first that are strings.
void write_log(lua_State* lua, LogLevel level) noexcept {
  LuaContext& context = LuaContext::of(lua);
  if (context.logger == nullptr || !should_log(*context.logger, level)) return;
  try {
    std::string line;
    for (int i = 2; i <= lua_gettop(lua); ++i) {
      if (lua_type(lua, i) != LUA_TSTRING) continue;
      if (i != 2) line += ' ';
      line += string_at(lua, i);
    }
    log(*context.logger, level, line);
  } catch (...) {
    context.fail(std::current_exception());
  }
}

/// redis.log(level, message, …)
int log(lua_State* lua) {
  const int count = lua_gettop(lua);
  if (count < 2) return raise_error(lua, script_errors::kLogArguments);
  if (lua_isnumber(lua, 1) == 0) return raise_error(lua, script_errors::kLogLevelType);
  const lua_Number level = lua_tonumber(lua, 1);
  if (!(level > -1 && level < static_cast<lua_Number>(std::size(kLogLevels)))) {
    return raise_error(lua, script_errors::kLogLevel);
  }
  for (int i = 2; i <= count; ++i) lua_tolstring(lua, i, nullptr);  // numbers to strings
  write_log(lua, kLogLevels[static_cast<std::size_t>(level)]);
  return 0;
}

// ---- Settings ----

/// redis.setresp(protocol)
int setresp(lua_State* lua) {
  if (lua_gettop(lua) != 1) return raise_error(lua, script_errors::kSetrespArguments);
  const lua_Integer protocol = lua_tointeger(lua, 1);
  if (protocol != 2 && protocol != 3) return raise_error(lua, script_errors::kRespVersion);
  LuaContext& context = LuaContext::of(lua);
  context.protocol = static_cast<int>(protocol);
  try {
    context.call->caller.set_protocol(context.protocol);
  } catch (...) {
    context.fail(std::current_exception());
  }
  return context.interrupted() ? raise_interruption(lua) : 0;
}

constexpr lua_Integer kReplicateToAof = 1;
constexpr lua_Integer kReplicateToReplicas = 2;
constexpr lua_Integer kReplicateToAll = kReplicateToAof | kReplicateToReplicas;

/// redis.set_repl(flags): checked, as there is nothing that it could switch off.
int set_repl(lua_State* lua) {
  if (lua_gettop(lua) != 1) return raise_error(lua, script_errors::kSetReplArguments);
  const lua_Integer flags = lua_tointeger(lua, 1);
  if (flags < 0 || flags > kReplicateToAll) {
    return raise_error(lua, script_errors::kReplicationFlags);
  }
  return 0;
}

/// redis.replicate_commands(): always so since Redis 7.
int replicate_commands(lua_State* lua) {
  lua_pushboolean(lua, 1);
  return 1;
}

/// redis.breakpoint(): false, as there is no debugger.
int breakpoint(lua_State* lua) {
  lua_pushboolean(lua, 0);
  return 1;
}

/// redis.debug(…): likewise nothing.
int debug(lua_State*) { return 0; }

constexpr lua_Integer kRedisVersionNumber = 0x0007000F;

struct NamedInteger {
  const char* name;
  lua_Integer value;
};

constexpr NamedInteger kConstants[] = {
    {"LOG_DEBUG", 0},
    {"LOG_VERBOSE", 1},
    {"LOG_NOTICE", 2},
    {"LOG_WARNING", 3},
    {"REPL_NONE", 0},
    {"REPL_AOF", kReplicateToAof},
    {"REPL_SLAVE", kReplicateToReplicas},
    {"REPL_REPLICA", kReplicateToReplicas},
    {"REPL_ALL", kReplicateToAll},
    {"REDIS_VERSION_NUM", kRedisVersionNumber},
};

constexpr luaL_Reg kRedisFunctions[] = {
    {"call", &call},
    {"pcall", &pcall},
    {"acl_check_cmd", &acl_check_cmd},
    {"status_reply", &status_reply},
    {"error_reply", &error_reply},
    {"sha1hex", &sha1hex},
    {"log", &log},
    {"setresp", &setresp},
    {"set_repl", &set_repl},
    {"replicate_commands", &replicate_commands},
    {"breakpoint", &breakpoint},
    {"debug", &debug},
    {nullptr, nullptr},
};

}  // namespace

void push_redis_api(lua_State* lua) {
  lua_createtable(lua, 0, static_cast<int>(std::size(kRedisFunctions) + std::size(kConstants)));
  luaL_register(lua, nullptr, kRedisFunctions);
  for (const NamedInteger& constant : kConstants) {
    lua_pushinteger(lua, constant.value);
    lua_setfield(lua, -2, constant.name);
  }
  lua_pushstring(lua, kRedisVersion);
  lua_setfield(lua, -2, "REDIS_VERSION");
}

}  // namespace rushgate
