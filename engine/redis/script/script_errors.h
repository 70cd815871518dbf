// All error messages about scripts that clients can see, word for word as in Redis 7.0 where it has
// one.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include <rushgate/reply.h>

namespace rushgate::script_errors {

// ---- Calling a script ----
inline Reply no_script() { return Reply::error("NOSCRIPT No matching script. Please use EVAL."); }
inline Reply no_function() { return Reply::error("ERR Function not found"); }
inline Reply bad_number_of_keys() { return Reply::error("ERR Bad number of keys provided"); }
inline Reply too_many_keys() {
  return Reply::error("ERR Number of keys can't be greater than number of args");
}
inline Reply negative_number_of_keys() {
  return Reply::error("ERR Number of keys can't be negative");
}
inline Reply write_script_called_read_only() {
  return Reply::error("ERR Can not execute a script with write flag using *_ro command.");
}

inline Reply asks_for_memory() {
  return Reply::error(
      "OOM allow-oom flag is not set on the script, can not run it when used memory > "
      "'maxmemory'");
}

// ---- SCRIPT ----
inline Reply bad_flush_option() {
  return Reply::error("ERR SCRIPT FLUSH only support SYNC|ASYNC option");
}
inline Reply bad_debug_option() { return Reply::error("ERR Use SCRIPT DEBUG YES/SYNC/NO"); }
inline Reply no_debugger() {  // ours
  return Reply::error("ERR there is no debugger of scripts");
}
inline Reply not_busy() { return Reply::error("NOTBUSY No scripts in execution right now."); }
inline Reply unkillable() {
  return Reply::error(
      "UNKILLABLE Sorry the script already executed write commands against the dataset. You can "
      "either wait the script termination or kill the server in a hard way using the SHUTDOWN "
      "NOSAVE command.");
}
inline Reply busy(bool is_function = false) {
  return Reply::error(
      is_function
          ? "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN "
            "NOSAVE."
          : "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN "
            "NOSAVE.");
}

// ---- A script's source ----
inline Reply not_compiled(std::string_view reason) {
  return Reply::error("ERR Error compiling script (new function): " + std::string(reason));
}
inline Reply shebang_without_end() { return Reply::error("ERR Invalid script shebang"); }
inline Reply shebang_engine(std::string_view engine) {
  return Reply::error("ERR Unexpected engine in script shebang: " + std::string(engine));
}
inline Reply shebang_flag(std::string_view flag) {
  return Reply::error("ERR Unexpected flag in script shebang: " + std::string(flag));
}
inline Reply shebang_option(std::string_view option) {
  return Reply::error("ERR Unknown lua shebang option: " + std::string(option));
}

// ---- Errors that end Lua scripts, or that they catch. C strings: raised inside the interpreter
// ----
inline constexpr const char* kKilled = "ERR Script killed by user with SCRIPT KILL...";
inline constexpr const char* kNoArguments =
    "ERR Please specify at least one argument for this redis lib call";
inline constexpr const char* kArgumentType =
    "ERR Lua redis lib command arguments must be strings or integers";
inline constexpr const char* kWrongArguments = "ERR wrong number or type of arguments";
inline constexpr const char* kArgumentCount = "ERR wrong number of arguments";
inline constexpr const char* kUnknownToCheck =
    "ERR Invalid command passed to redis.acl_check_cmd()";
inline constexpr const char* kLogArguments = "ERR redis.log() requires two arguments or more.";
inline constexpr const char* kLogLevelType = "ERR First argument must be a number (log level).";
inline constexpr const char* kLogLevel = "ERR Invalid debug level.";
inline constexpr const char* kSetrespArguments = "ERR redis.setresp() requires one argument.";
inline constexpr const char* kRespVersion = "ERR RESP version must be 2 or 3.";
inline constexpr const char* kSetReplArguments = "ERR redis.set_repl() requires two arguments.";
inline constexpr const char* kReplicationFlags =
    "ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.";
inline constexpr const char* kReadOnlyTable = "Attempt to modify a readonly table";
inline constexpr const char* kNoGlobal =
    "Script attempted to access nonexistent global variable '%s'";
inline constexpr const char* kGlobalNameType =
    "Second argument to luaProtectedTableError must be a string or number";
inline constexpr const char* kGlobalNameArguments =
    "Wrong number of arguments to luaProtectedTableError";
inline constexpr const char* kReplyTooDeep = "ERR reached lua stack limit";

// Ours: Redis has no such limits, or crashes.
inline constexpr const char* kRequestTooLarge = "ERR the command's arguments are too large";
inline constexpr const char* kPatternTooComplex = "pattern too complex";
inline constexpr const char* kErrorWithoutText = "ERR error object without a text in 'err'";
inline constexpr const char* kReplyTooLarge = "ERR the script's reply is too large";
inline constexpr const char* kOutOfMemory = "not enough memory";

/// For a script that could not raise an error: out of memory, or an error in its error handler. A
/// library has no name.
inline Reply aborted(std::string_view name, std::string_view reason) {
  if (name.empty()) return Reply::error("ERR " + std::string(reason));
  return Reply::error("ERR Error running script " + std::string(name) + ", " + std::string(reason));
}

// ---- Typed operations of native scripts: the messages of the commands with the same meaning ----
inline constexpr const char* kMaxMemory = "OOM command not allowed when used memory > 'maxmemory'.";
inline constexpr const char* kWrongType =
    "WRONGTYPE Operation against a key holding the wrong kind of value";
inline constexpr const char* kNotAnInteger = "ERR value is not an integer or out of range";
inline constexpr const char* kHashValueNotAnInteger = "ERR hash value is not an integer";
inline constexpr const char* kIdsExhausted =
    "ERR The stream has exhausted the last possible ID, unable to add more items";
inline constexpr const char* kOverflow = "ERR increment or decrement would overflow";
/// Ours: Redis does not read from a store.
inline std::string store_failed(const absl::Status& status) {
  return "ERR " + std::string(status.message());
}

}  // namespace rushgate::script_errors
