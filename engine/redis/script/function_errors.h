// All error messages about functions and their libraries, word for word as in Redis 7.0 where it
// has one.
#pragma once

#include <string>
#include <string_view>

#include <rushgate/reply.h>

namespace rushgate::function_errors {

// ---- A library's source ----
inline Reply no_metadata() { return Reply::error("ERR Missing library metadata"); }
inline Reply invalid_metadata() { return Reply::error("ERR Invalid library metadata"); }
/// `value` may have line breaks, which a caller replaces.
inline std::string metadata_value(std::string_view value) {
  return "ERR Invalid metadata value given: " + std::string(value);
}
inline Reply several_names() {
  return Reply::error("ERR Invalid metadata value, name argument was given multiple times");
}
inline Reply no_name() { return Reply::error("ERR Library name was not given"); }
inline constexpr const char* kName =
    "ERR Library names can only contain letters, numbers, or underscores(_) and must be at least "
    "one character long";
inline std::string no_engine(std::string_view engine) {
  return "ERR Engine '" + std::string(engine) + "' not found";
}
inline std::string not_compiled(std::string_view reason) {
  return "ERR Error compiling function: " + std::string(reason);
}
inline std::string not_registered(std::string_view reason) {
  return "ERR Error registering functions: " + std::string(reason);
}
inline Reply no_functions() { return Reply::error("ERR No functions registered"); }

// ---- Errors of a library that is loaded. C strings: raised inside the interpreter ----
inline constexpr const char* kLoadTimeout = "ERR FUNCTION LOAD timeout";
inline constexpr const char* kNotLoading =
    "ERR redis.register_function can only be called on FUNCTION LOAD command";
inline constexpr const char* kArgumentCount =
    "ERR wrong number of arguments to redis.register_function";
inline constexpr const char* kNoTable =
    "ERR calling redis.register_function with a single argument is only applicable to Lua table "
    "(representing named arguments).";
inline constexpr const char* kFirstArgument =
    "ERR first argument to redis.register_function must be a string";
inline constexpr const char* kSecondArgument =
    "ERR second argument to redis.register_function must be a function";
inline constexpr const char* kArgumentName =
    "ERR named argument key given to redis.register_function is not a string";
inline constexpr const char* kUnknownArgument =
    "ERR unknown argument given to redis.register_function";
inline constexpr const char* kNameType =
    "ERR function_name argument given to redis.register_function must be a string";
inline constexpr const char* kDescriptionType =
    "ERR description argument given to redis.register_function must be a string";
inline constexpr const char* kCallbackType =
    "ERR callback argument given to redis.register_function must be a function";
inline constexpr const char* kFlagsType =
    "ERR flags argument to redis.register_function must be a table representing function flags";
inline constexpr const char* kUnknownFlag = "ERR unknown flag given";
inline constexpr const char* kNoFunctionName =
    "ERR redis.register_function must get a function name argument";
inline constexpr const char* kNoCallback =
    "ERR redis.register_function must get a callback argument";
inline constexpr const char* kRegisteredTwice = "ERR Function already exists in the library";
inline constexpr const char* kTooMany = "ERR too many functions";  // ours

// ---- The set of libraries ----
inline Reply library_exists(std::string_view name) {
  return Reply::error("ERR Library '" + std::string(name) + "' already exists");
}
inline Reply restored_library_exists(std::string_view name) {
  return Reply::error("ERR Library " + std::string(name) + " already exists");
}
inline Reply function_exists(std::string_view name) {
  return Reply::error("ERR Function " + std::string(name) + " already exists");
}
inline Reply no_library() { return Reply::error("ERR Library not found"); }
inline Reply too_many_libraries() {
  return Reply::error("ERR too many function libraries");
}  // ours
inline Reply too_many_functions() { return Reply::error(kTooMany); }

// ---- Arguments of FUNCTION ----
inline std::string unknown_option(std::string_view option) {
  return "ERR Unknown option given: " + std::string(option);
}
inline std::string unknown_argument(std::string_view argument) {
  return "ERR Unknown argument " + std::string(argument);
}
inline Reply no_pattern() { return Reply::error("ERR library name argument was not given"); }
inline Reply flush_option() {
  return Reply::error("ERR FUNCTION FLUSH only supports SYNC|ASYNC option");
}
inline Reply restore_policy() {
  return Reply::error(
      "ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.");
}

// ---- The payload of FUNCTION RESTORE ----
inline Reply payload_checksum() {
  return Reply::error("ERR DUMP payload version or checksum are wrong");
}
inline Reply payload_type() { return Reply::error("ERR given type is not a function"); }
inline Reply payload_library() { return Reply::error("ERR Failed loading library payload"); }

}  // namespace rushgate::function_errors
