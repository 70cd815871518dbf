// Every error text that a command can answer, word for word Redis 7.0's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/client/reply.h"
#include "engine/client/request.h"

namespace rushgate::errors {

// ---- Arguments ----
inline Reply syntax() { return Reply::error("ERR syntax error"); }
inline Reply not_an_integer() {
  return Reply::error("ERR value is not an integer or out of range");
}
/// Of an integer that is one, but not between the bounds; the wording is Redis's.
inline Reply out_of_range(std::int64_t min, std::int64_t max) {
  return Reply::error("ERR value is out of range, value must between " + std::to_string(min) +
                      " and " + std::to_string(max));
}
/// Of a count.
inline Reply not_positive() { return Reply::error("ERR value is out of range, must be positive"); }
/// `what` is the name of the count.
inline Reply not_above_zero(std::string_view what) {
  return Reply::error("ERR " + std::string(what) + " should be greater than 0");
}
inline Reply not_a_float() { return Reply::error("ERR value is not a valid float"); }
inline Reply wrong_type() {
  return Reply::error("WRONGTYPE Operation against a key holding the wrong kind of value");
}
inline Reply wrong_arity(std::string_view command) {
  return Reply::error("ERR wrong number of arguments for '" + std::string(command) + "' command");
}
/// What Redis, which takes it for a C string, sees of an argument where it compares keywords or
/// quotes it.
inline std::string_view as_c_string(std::string_view argument) {
  return argument.substr(0, argument.find('\0'));
}
Reply unknown_command(RequestView request);
Reply unknown_subcommand(std::string_view command, std::string_view subcommand);

// ---- Connection ----
inline Reply no_such_database() { return Reply::error("ERR DB index is out of range"); }

// ---- Expiry ----
inline Reply invalid_expire_time(std::string_view command) {
  return Reply::error("ERR invalid expire time in '" + std::string(command) + "' command");
}
Reply unsupported_option(std::string_view option);
inline Reply nx_excludes() {
  return Reply::error("ERR NX and XX, GT or LT options at the same time are not compatible");
}
inline Reply gt_excludes_lt() {
  return Reply::error("ERR GT and LT options at the same time are not compatible");
}

// ---- Blocking ----
inline Reply timeout_not_a_float() {
  return Reply::error("ERR timeout is not a float or out of range");
}
inline Reply negative_timeout() { return Reply::error("ERR timeout is negative"); }
/// CLIENT UNBLOCK … ERROR.
inline Reply unblocked_by_client() {
  return Reply::error("UNBLOCKED client unblocked via CLIENT UNBLOCK");
}

// ---- Values ----
inline Reply no_such_key() { return Reply::error("ERR no such key"); }
inline Reply overflow() { return Reply::error("ERR increment or decrement would overflow"); }
inline Reply decrement_overflow() { return Reply::error("ERR decrement would overflow"); }
inline Reply hash_value_not_an_integer() {
  return Reply::error("ERR hash value is not an integer");
}
inline Reply index_out_of_range() { return Reply::error("ERR index out of range"); }
inline Reply rank_is_zero() {
  return Reply::error(
      "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use "
      "negative to start from the end of the list");
}
inline Reply negative_option(std::string_view option) {
  return Reply::error("ERR " + std::string(option) + " can't be negative");
}
inline Reply string_too_long() {
  return Reply::error("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
}

// ---- Scripts ----
inline Reply unknown_in_script() {
  return Reply::error("ERR Unknown Redis command called from script");
}
inline Reply arity_in_script() {
  return Reply::error("ERR Wrong number of args calling Redis command from script");
}
inline Reply not_from_script() {
  return Reply::error("ERR This Redis command is not allowed from script");
}
inline Reply write_in_read_only_script() {
  return Reply::error("ERR Write commands are not allowed from read-only scripts.");
}

}  // namespace rushgate::errors
