#include "engine/redis/script/lua_register_function.h"

#include <string>
#include <string_view>
#include <utility>

#include "engine/core/base/letter_case.h"
#include "engine/redis/script/function_errors.h"
#include "engine/redis/script/function_library.h"
#include "engine/redis/script/library_source.h"
#include "engine/redis/script/lua_context.h"
#include "engine/redis/script/lua_conversion.h"
#include "engine/redis/script/lua_errors.h"
#include "engine/redis/script/lua_sandbox.h"
#include "engine/redis/script/script_errors.h"

namespace rushgate {
namespace {

// Places of the arguments on the stack; nil if they are not given. A table of named arguments is at
// kTable.
constexpr int kTable = 1;
constexpr int kName = 2;
constexpr int kCallback = 3;
constexpr int kDescription = 4;
constexpr int kPlaces = 4;

/// Puts (name, callback) into their places. Returns an error, or null.
const char* read_positions(lua_State* lua) {
  if (lua_isstring(lua, 1) == 0) return function_errors::kFirstArgument;
  if (!lua_isfunction(lua, 2)) return function_errors::kSecondArgument;
  lua_pushnil(lua);
  lua_insert(lua, kTable);
  lua_settop(lua, kPlaces);
  return nullptr;
}

bool set_flag(ScriptFlags& flags, std::string_view name) {
  for (const NamedScriptFlag& flag : kScriptFlags) {
    if (!equal_in_any_case(flag.name, name)) continue;
    flags.*flag.member = true;
    return true;
  }
  return false;
}

/// Reads the list of flags on top of the stack. Returns an error, or null.
const char* read_flags(lua_State* lua, ScriptFlags& flags) {
  if (!lua_istable(lua, -1)) return function_errors::kFlagsType;
  for (int i = 1;; ++i) {
    lua_rawgeti(lua, -1, i);
    if (lua_isnil(lua, -1)) break;
    if (lua_isstring(lua, -1) == 0 || !set_flag(flags, string_at(lua, -1))) {
      return function_errors::kUnknownFlag;
    }
    lua_pop(lua, 1);
  }
  lua_pop(lua, 1);
  return nullptr;
}

/// Puts the value on top of the stack into its place. Returns an error, or null.
const char* read_argument(lua_State* lua, std::string_view name, ScriptFlags& flags) {
  if (equal_in_any_case(name, "function_name")) {
    if (lua_isstring(lua, -1) == 0) return function_errors::kNameType;
    lua_pushvalue(lua, -1);
    lua_replace(lua, kName);
  } else if (equal_in_any_case(name, "description")) {
    if (lua_isstring(lua, -1) == 0) return function_errors::kDescriptionType;
    lua_pushvalue(lua, -1);
    lua_replace(lua, kDescription);
  } else if (equal_in_any_case(name, "callback")) {
    if (!lua_isfunction(lua, -1)) return function_errors::kCallbackType;
    lua_pushvalue(lua, -1);
    lua_replace(lua, kCallback);
  } else if (equal_in_any_case(name, "flags")) {
    return read_flags(lua, flags);
  } else {
    return function_errors::kUnknownArgument;
  }
  return nullptr;
}

/// Puts the named arguments into their places. Returns an error, or null.
const char* read_names(lua_State* lua, ScriptFlags& flags) {
  if (!lua_istable(lua, kTable)) return function_errors::kNoTable;
  if (push_guarded(lua, kTable)) lua_replace(lua, kTable);
  lua_settop(lua, kPlaces);
  lua_pushnil(lua);
  while (lua_next(lua, kTable) != 0) {
    if (lua_isstring(lua, -2) == 0) return function_errors::kArgumentName;
    // A number as a key must not be converted in its place. Its name is unknown anyway.
    const bool is_text = lua_type(lua, -2) == LUA_TSTRING;
    const std::string_view name = is_text ? string_at(lua, -2) : std::string_view();
    if (const char* const fault = read_argument(lua, name, flags)) return fault;
    lua_pop(lua, 1);
  }
  if (lua_isnil(lua, kName)) return function_errors::kNoFunctionName;
  return lua_isnil(lua, kCallback) ? function_errors::kNoCallback : nullptr;
}

/// Adds the function, whose reference is `function`. Returns an error, or null.
const char* add(LuaContext& context, std::string_view name, const std::string_view* description,
                const ScriptFlags& flags, int function) noexcept {
  try {
    LuaFunction added{std::string(name), std::nullopt, flags, function};
    if (description != nullptr) added.description.emplace(*description);
    return context.library->add(std::move(added)) ? nullptr : script_errors::kOutOfMemory;
  } catch (...) {
    context.fail(std::current_exception());
    return script_errors::kOutOfMemory;
  }
}

/// Registers the function whose arguments are in their places. Returns an error, or null.
const char* register_arguments(lua_State* lua, LuaContext& context, const ScriptFlags& flags) {
  const std::string_view name = string_at(lua, kName);
  if (!is_function_name(name)) return function_errors::kName;
  constexpr std::size_t kSteps = 100;
  FunctionLibrary& library = *context.library;
  context.spend(lua, kSteps);
  if (library.has(name)) return function_errors::kRegisteredTwice;
  if (library.functions().size() >= LibrarySet::kFunctionsMax) return function_errors::kTooMany;

  const bool is_described = !lua_isnil(lua, kDescription);
  const std::string_view description = is_described ? string_at(lua, kDescription) : "";
  lua_pushvalue(lua, kCallback);
  const int function = luaL_ref(lua, LUA_REGISTRYINDEX);
  const char* const fault =
      add(context, name, is_described ? &description : nullptr, flags, function);
  if (fault != nullptr) luaL_unref(lua, LUA_REGISTRYINDEX, function);
  return fault;
}

}  // namespace

int register_function(lua_State* lua) {
  LuaContext& context = LuaContext::of(lua);
  if (context.library == nullptr) return raise_error(lua, function_errors::kNotLoading);
  const int count = lua_gettop(lua);
  if (count < 1 || count > 2) return raise_error(lua, function_errors::kArgumentCount);
  luaL_checkstack(lua, 2 * kPlaces, nullptr);
  ScriptFlags flags{.declared = true};
  const char* fault = count == 2 ? read_positions(lua) : read_names(lua, flags);
  if (fault == nullptr) fault = register_arguments(lua, context, flags);
  if (context.interrupted()) return raise_interruption(lua);
  return fault == nullptr ? 0 : raise_error(lua, fault);
}

}  // namespace rushgate
