#include "engine/script/lua_runner.h"

#include <span>
#include <string>

#include "engine/script/lua_conversion.h"
#include "engine/script/lua_errors.h"
#include "engine/script/lua_sandbox.h"
#include "engine/script/script_errors.h"

namespace rushgate {
namespace {

// ---- Compiling ----

constexpr char kCompiledCodeMark = LUA_SIGNATURE[0];

/// Hands a text to Lua in pieces. A text that begins as compiled code does gets a space in front of
/// it, whereupon Lua reads it as the text that it should be: compiled code could do anything.
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
    const bool guarded = !started_ && piece.starts_with(kCompiledCodeMark);
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

/// The upvalues of the runner: what each call needs, made once.
constexpr int kGlobals = lua_upvalueindex(1);
constexpr int kKeysName = lua_upvalueindex(2);
constexpr int kArgumentsName = lua_upvalueindex(3);
constexpr int kErrorHandler = lua_upvalueindex(4);

// Redis's rhythm: so often, and by this much, the collector goes on even if nothing asks for it.
constexpr std::uint32_t kScriptsPerCollectorStep = 50;
constexpr int kCollectorStep = 50;

// Redis's words for an error that is no text.
constexpr const char* kNoText = "execution failure";

/// Sets the global `name` (an upvalue) to a list of these texts.
void set_global_list(lua_State* lua, int name, std::span<const std::string_view> texts) {
  lua_pushvalue(lua, name);
  lua_createtable(lua, static_cast<int>(texts.size()), 0);
  int index = 0;
  for (const std::string_view text : texts) {
    lua_pushlstring(lua, text.data(), text.size());
    lua_rawseti(lua, -2, ++index);
  }
  lua_rawset(lua, kGlobals);
}

/// What Redis says of an error that nobody caught. `source` and `line` may be null.
std::string describe(const std::string& sha1, const char* text, const char* source,
                     const char* line) {
  std::string description = text;
  if (source != nullptr && line != nullptr) {
    description += " script: " + sha1 + ", on " + source + ':' + line + '.';
  }
  return error_line(description);
}

/// The error on top of the stack becomes the result.
void take_error(lua_State* lua, const LuaScript& script) {
  LuaContext& context = LuaContext::of(lua);
  const int error = lua_gettop(lua);
  if (!lua_istable(lua, error)) {
    const char* const text = lua_tostring(lua, error);
    context.result.reply = script_errors::aborted(script.sha1, text != nullptr ? text : kNoText);
    return;
  }
  lua_getfield(lua, error, "err");
  lua_getfield(lua, error, "source");
  lua_getfield(lua, error, "line");
  const char* text = lua_tostring(lua, error + 1);
  if (text == nullptr) text = script_errors::kErrorWithoutText;
  const char* const source = lua_tostring(lua, error + 2);
  const char* const line = lua_tostring(lua, error + 3);
  context.result.reply = Reply::error(describe(script.sha1, text, source, line));
}

/// Calls the script; takes what it gives, or fails with. C++ exceptions end here.
void call_script(lua_State* lua, const LuaScript& script) {
  LuaContext& context = LuaContext::of(lua);
  lua_pushvalue(lua, kErrorHandler);
  lua_rawgeti(lua, LUA_REGISTRYINDEX, script.function);
  const int status = lua_pcall(lua, 0, 1, -2);
  try {
    context.result.failed = status != 0;
    if (status == 0) {
      to_reply(lua, context.protocol, context.result.reply);
    } else {
      take_error(lua, script);
    }
  } catch (...) {
    context.fail(std::current_exception());
  }
}

/// The argument is the script.
int runner(lua_State* lua) {
  const auto& script = *static_cast<const LuaScript*>(lua_topointer(lua, 1));
  LuaContext& context = LuaContext::of(lua);
  set_global_list(lua, kKeysName, context.call->keys);
  set_global_list(lua, kArgumentsName, context.call->arguments);
  call_script(lua, script);
  if (++context.scripts_run % kScriptsPerCollectorStep == 0) {
    lua_gc(lua, LUA_GCSTEP, kCollectorStep);
  }
  return 0;
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

int create_runner(lua_State* lua) {
  // Scripts see their globals through a guard (lua_sandbox.h); KEYS and ARGV are set behind it.
  push_guarded(lua, LUA_GLOBALSINDEX);
  lua_pushliteral(lua, "KEYS");
  lua_pushliteral(lua, "ARGV");
  lua_pushcfunction(lua, &add_error_position);
  lua_pushcclosure(lua, &runner, 4);
  return luaL_ref(lua, LUA_REGISTRYINDEX);
}

void run_script(LuaContext& context, const LuaScript& script) {
  lua_State* const lua = context.lua;
  context.result = {Reply::nil(), true};
  lua_rawgeti(lua, LUA_REGISTRYINDEX, context.runner);
  lua_pushlightuserdata(lua, const_cast<LuaScript*>(&script));
  if (lua_pcall(lua, 1, 0, 0) != 0) {
    // Before or after the script itself: out of memory, or an error in what the error object does.
    const char* const text = lua_tostring(lua, -1);
    context.result.failed = true;
    context.result.reply = script_errors::aborted(script.sha1, text != nullptr ? text : kNoText);
    if (context.killed) context.result.reply = Reply::error(script_errors::kKilled);
  }
}

}  // namespace rushgate
