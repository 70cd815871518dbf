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

// ---- Values ----
inline Reply overflow() { return Reply::error("ERR increment or decrement would overflow"); }
inline Reply decrement_overflow() { return Reply::error("ERR decrement would overflow"); }
inline Reply hash_value_not_an_integer() {
  return Reply::error("ERR hash value is not an integer");
}
inline Reply hash_value_not_a_float() { return Reply::error("ERR hash value is not a float"); }
inline Reply increment_not_finite() { return Reply::error("ERR value is NaN or Infinity"); }
inline Reply value_out_of_range() { return Reply::error("ERR value is out of range"); }
inline Reply not_positive() { return Reply::error("ERR value is out of range, must be positive"); }
inline Reply no_keys_counted() { return Reply::error("ERR numkeys should be greater than 0"); }
inline Reply too_many_keys_counted() {
  return Reply::error("ERR Number of keys can't be greater than number of args");
}
inline Reply negative_limit_of_set() { return Reply::error("ERR LIMIT can't be negative"); }
inline Reply string_too_long() {
  return Reply::error("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
}

inline Reply negative_offset() { return Reply::error("ERR offset is out of range"); }
inline Reply not_finite() { return Reply::error("ERR increment would produce NaN or Infinity"); }
inline Reply lcs_not_strings() {
  return Reply::error("ERR The specified keys must contain string values");
}
inline Reply lcs_length_and_matches() {
  return Reply::error("ERR If you want both the length and indexes, please just use IDX.");
}
inline Reply lcs_no_memory() {
  return Reply::error("ERR Insufficient memory, failed allocating transient memory for LCS");
}

// ---- Keys ----
inline Reply no_such_key() { return Reply::error("ERR no such key"); }
inline Reply same_object() {
  return Reply::error("ERR source and destination objects are the same");
}
inline Reply invalid_first_database() { return Reply::error("ERR invalid first DB index"); }
inline Reply invalid_second_database() { return Reply::error("ERR invalid second DB index"); }
inline Reply invalid_cursor() { return Reply::error("ERR invalid cursor"); }
inline Reply frequency_not_tracked() {
  return Reply::error(
      "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that "
      "when switching between policies at runtime LRU and LFU data will take some time to adjust.");
}

// ---- Settings ----
Reply unknown_setting(std::string_view name);
Reply setting_refused(std::string_view name, std::string_view reason);
inline Reply no_configuration_file() {
  return Reply::error("ERR The server is running without a config file");
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
