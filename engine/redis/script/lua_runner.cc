#include "engine/redis/script/lua_runner.h"

#include <algorithm>
#include <span>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "engine/redis/script/function_library.h"
#include "engine/redis/script/lua_conversion.h"
#include "engine/redis/script/lua_errors.h"
#include "engine/redis/script/lua_function_globals.h"
#include "engine/redis/script/lua_sandbox.h"
#include "engine/redis/script/script_errors.h"

namespace rushgate {
namespace {

// ---- Compiling ----

constexpr char kCompiledCodeSignature = LUA_SIGNATURE[0];

/// Passes source to Lua in pieces. A space precedes source that begins like compiled code, so that
/// Lua parses it as source: compiled code could do anything.
class TextReader {
 public:
  const char* next(std::size_t* size) {
    const std::string_view piece = held_;
    held_ = {};
    *size = piece.size();
    return piece.empty() ? nullptr : piece.data();
  }

  [[nodiscard]] bool holds_piece() const { return !held_.empty(); }

  /// Takes the next piece; it is given out by next(), at once or after a space.
  const char* give(std::string_view piece, std::size_t* size) {
    held_ = piece;
    const bool guarded = !started_ && piece.starts_with(kCompiledCodeSignature);
    started_ = started_ || !piece.empty();
    if (!guarded) return next(size);
    *size = 1;
    return " ";
  }

 private:
  std::string_view held_;
  bool started_ = false;
};

struct WholeText {
  TextReader reader;
  std::string_view text;
};

const char* read_whole_text(lua_State*, void* data, std::size_t* size) {
  auto& whole = *static_cast<WholeText*>(data);
  if (whole.reader.holds_piece()) return whole.reader.next(size);
  const std::string_view text = whole.text;
  whole.text = {};
  return whole.reader.give(text, size);
}

const char* read_piece(lua_State* lua, void* data, std::size_t* size) {
  auto& reader = *static_cast<TextReader*>(data);
  if (reader.holds_piece()) return reader.next(size);
  LuaContext::of(lua).spend(lua, 1);
  luaL_checkstack(lua, 2, "too many nested functions");
  lua_pushvalue(lua, 1);
  lua_call(lua, 0, 1);
  if (lua_isnil(lua, -1)) {
    *size = 0;
    return nullptr;
  }
  if (lua_isstring(lua, -1) == 0) luaL_error(lua, "reader function must return a string");
  lua_replace(lua, 3);  // keeps the piece alive while it is read
  std::size_t piece_size = 0;
  const char* const piece = lua_tolstring(lua, 3, &piece_size);
  return reader.give({piece, piece_size}, size);
}

// ---- Running: inside Lua's protection ----

/// Permanent slots on the interpreter's stack, below those of a call.
constexpr int kErrorHandlerSlot = 1;
constexpr int kRunnerSlot = 2;
constexpr int kErrorTakerSlot = 3;
constexpr int kFunctionRunnerSlot = 4;
constexpr int kSlots = 4;

/// The upvalues of the runner: objects that each call needs, created once.
constexpr int kGuardedGlobals = lua_upvalueindex(1);  // behind the guard
constexpr int kPlainGlobals = lua_upvalueindex(2);
constexpr int kKeysName = lua_upvalueindex(3);
constexpr int kArgumentsName = lua_upvalueindex(4);
constexpr int kKeys = lua_upvalueindex(5);
constexpr int kArguments = lua_upvalueindex(6);

// Redis's message for an error that has none.
constexpr const char* kNoText = "execution failure";

/// Pushes the address of an object that C functions get as an argument.
template <class Object>
void push_address(lua_State* lua, const Object& object) {
  lua_pushlightuserdata(lua, const_cast<Object*>(&object));
}

template <class Object>
const Object& object_at(lua_State* lua, int index) {
  return *static_cast<const Object*>(lua_topointer(lua, index));
}

/// Creates a table `list` with the contents in `image`, as the global `name`. (All three are
/// upvalues.)
void renew_list(lua_State* lua, int name, int list, ListImage& image) {
  lua_createtable(lua, static_cast<int>(image.texts.size()), 0);
  lua_replace(lua, list);
  for (const int globals : {kGuardedGlobals, kPlainGlobals}) {
    lua_pushvalue(lua, name);
    lua_pushvalue(lua, list);
    lua_rawset(lua, globals);
  }
  std::ranges::fill(image.texts, std::string_view());
}

/// Fills the table `list`, whose contents are in `image`, with these strings.
void fill_list(lua_State* lua, int list, ListImage& image,
               std::span<const std::string_view> texts) {
  int index = 0;
  std::string_view* there = image.texts.data();
  for (const std::string_view text : texts) {
    ++index;
    if (there->data() == nullptr || *there != text) {
      lua_pushlstring(lua, text.data(), text.size());
      const std::string_view held(lua_tostring(lua, -1), text.size());
      lua_rawseti(lua, list, index);
      *there = held;
    }
    ++there;
  }
  for (; image.texts.size() > texts.size(); image.texts.pop_back()) {
    lua_pushnil(lua);
    lua_rawseti(lua, list, static_cast<int>(image.texts.size()));
  }
}

void set_lists(lua_State* lua, LuaContext& context, const LuaScript& script) {
  if (context.lists_outdated) {
    renew_list(lua, kKeysName, kKeys, context.keys);
    renew_list(lua, kArgumentsName, kArguments, context.argv);
  }
  context.lists_outdated = !script.globals.keeps_lists;
  fill_list(lua, kKeys, context.keys, context.call->keys);
  fill_list(lua, kArguments, context.argv, context.call->arguments);
}

/// Converts the value on top of the stack to the reply. C++ exceptions end here.
void take_result(lua_State* lua, LuaContext& context) {
  try {
    to_result(lua, context.protocol, context.result);
  } catch (...) {
    context.fail(std::current_exception());
  }
}

/// The argument is the script.
int runner(lua_State* lua) {
  const auto& script = object_at<LuaScript>(lua, 1);
  LuaContext& context = LuaContext::of(lua);
  set_lists(lua, context, script);
  lua_rawgeti(lua, LUA_REGISTRYINDEX, script.function);
  lua_call(lua, 0, 1);
  take_result(lua, context);
  return 0;
}

void push_list(lua_State* lua, std::span<const std::string_view> texts) {
  lua_createtable(lua, static_cast<int>(texts.size()), 0);
  int index = 0;
  for (const std::string_view text : texts) {
    lua_pushlstring(lua, text.data(), text.size());
    lua_rawseti(lua, -2, ++index);
  }
}

/// The argument is the function. It may keep its tables, so each call gets new ones.
int function_runner(lua_State* lua) {
  const auto& function = object_at<LuaFunction>(lua, 1);
  LuaContext& context = LuaContext::of(lua);
  lua_rawgeti(lua, LUA_REGISTRYINDEX, function.function);
  push_list(lua, context.call->keys);
  push_list(lua, context.call->arguments);
  lua_call(lua, 2, 1);
  take_result(lua, context);
  return 0;
}

// ---- How a script failed ----

/// Returns Redis's message for an uncaught error. `name` is that of the script or function; empty
/// for a library. `source` and `line` may be null.
std::string describe(const std::string& name, const char* text, const char* source,
                     const char* line) {
  std::string description = text;
  if (!name.empty() && source != nullptr && line != nullptr) {
    description += " script: " + name + ", on " + source + ':' + line + '.';
  }
  return error_line(description);
}

/// Sets the reply. The arguments are the name of describe() and the error, a table. Must be called
/// protected: the table may have a metatable.
int take_error(lua_State* lua) {
  const auto& name = object_at<std::string>(lua, 1);
  constexpr int kError = 2;
  lua_getfield(lua, kError, "err");
  lua_getfield(lua, kError, "source");
  lua_getfield(lua, kError, "line");
  lua_getfield(lua, kError, kIsCounted);
  const char* text = lua_tostring(lua, kError + 1);
  if (text == nullptr) text = script_errors::kErrorWithoutText;
  const char* const source = lua_tostring(lua, kError + 2);
  const char* const line = lua_tostring(lua, kError + 3);
  const bool is_counted = lua_isboolean(lua, kError + 4) && lua_toboolean(lua, kError + 4) != 0;
  LuaContext& context = LuaContext::of(lua);
  try {
    set_error(context.result, describe(name, text, source, line), is_counted);
  } catch (...) {
    context.fail(std::current_exception());
  }
  return 0;
}

/// Makes the error on top of the stack the reply. Allocates nothing outside Lua's protection: the
/// script may have left no memory.
void return_error(LuaContext& context, const std::string& name) {
  lua_State* const lua = context.lua;
  if (lua_istable(lua, -1)) {
    lua_pushvalue(lua, kErrorTakerSlot);
    lua_insert(lua, -2);
    push_address(lua, name);
    lua_insert(lua, -2);
    if (lua_pcall(lua, 2, 0, 0) == 0) return;
  }
  // Outside the script itself: out of memory, or an error in a metamethod of the error.
  const char* const text = lua_type(lua, -1) == LUA_TSTRING ? lua_tostring(lua, -1) : kNoText;
  const Reply reply =
      context.killed ? Reply::error(script_errors::kKilled) : script_errors::aborted(name, text);
  set_error(context.result, reply.text(), false);
}

/// Calls the function below its arguments, whose number is `arguments`. Sets LuaContext::result
/// if it fails.
void call_protected(LuaContext& context, int arguments, const std::string& name) {
  lua_State* const lua = context.lua;
  context.result.failed = lua_pcall(lua, arguments, 0, kErrorHandlerSlot) != 0;
  context.running = lua;  // an error may have left a coroutine
  context.result.killed = context.result.failed && context.killed;
  if (context.result.failed) return_error(context, name);
}

}  // namespace

int load_text(lua_State* lua, std::string_view text, const char* chunk_name) {
  WholeText whole{{}, text};
  return lua_load(lua, &read_whole_text, &whole, chunk_name);
}

int load_pieces(lua_State* lua, const char* chunk_name) {
  TextReader reader;
  return lua_load(lua, &read_piece, &reader, chunk_name);
}

void push_runner(lua_State* lua) {
  lua_settop(lua, 0);
  lua_pushcfunction(lua, &add_error_position);
  // Scripts see their globals through a guard (lua_sandbox.h); KEYS and ARGV are set behind it.
  push_guarded(lua, LUA_GLOBALSINDEX);
  lua_rawgeti(lua, LUA_REGISTRYINDEX, LuaContext::of(lua).plain_globals);
  lua_pushliteral(lua, "KEYS");
  lua_pushliteral(lua, "ARGV");
  lua_newtable(lua);
  lua_newtable(lua);
  lua_pushcclosure(lua, &runner, 6);
  lua_pushcfunction(lua, &take_error);
  lua_pushcfunction(lua, &function_runner);
}

void leave_runner_alone(lua_State* lua) { lua_settop(lua, kSlots); }

void run_script(LuaContext& context, const LuaScript& script) {
  lua_pushvalue(context.lua, kRunnerSlot);
  push_address(context.lua, script);
  call_protected(context, 1, script.sha1);
}

void run_function(LuaContext& context, const LuaFunction& function) {
  use_globals_of_call(context.lua);
  const absl::Cleanup restore_globals = [&context] { use_globals_of_scripts(context.lua); };
  lua_pushvalue(context.lua, kFunctionRunnerSlot);
  push_address(context.lua, function);
  call_protected(context, 1, function.name);
}

void run_library(LuaContext& context) {
  static const std::string kNoName;
  call_protected(context, 0, kNoName);
}

}  // namespace rushgate
