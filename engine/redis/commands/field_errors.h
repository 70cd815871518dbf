// The error messages of commands on the expiries of fields, word for word as in Redis 8.0.
#pragma once

#include <string>
#include <string_view>

#include "engine/redis/commands/errors.h"
#include <rushgate/reply.h>

namespace rushgate::errors {

inline Reply fields_missing() {
  return Reply::error("ERR Mandatory argument FIELDS is missing or not at the right position");
}
/// For HEXPIRE and its like.
inline Reply number_of_fields_below_one() {
  return Reply::error("ERR Parameter `numFields` should be greater than 0");
}
/// For the other commands, except HSETEX.
inline Reply number_of_fields_not_positive() {
  return Reply::error("ERR Number of fields must be a positive integer");
}
inline Reply wrong_number_of_fields() {
  return Reply::error("ERR The `numfields` parameter must match the number of arguments");
}
inline Reply negative_expire_time() {
  return Reply::error("ERR invalid expire time, must be >= 0");
}

// ---- HSETEX ----
inline Reply invalid_number_of_fields() { return Reply::error("ERR invalid number of fields"); }
inline Reply fnx_excludes_fxx() {
  return Reply::error("ERR Only one of FXX or FNX arguments can be specified");
}
inline Reply one_expiry_wanted() {
  return Reply::error("ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified");
}
inline Reply unknown_argument(std::string_view argument) {
  return Reply::error("ERR unknown argument: " + std::string(as_c_string(argument)));
}

// ---- DUMP ----
inline Reply expiring_fields_in_dump() {  // ours
  return Reply::error(
      "ERR a hash with fields that expire cannot be dumped: the format of Redis 7.0 has no "
      "expiries "
      "of fields");
}

}  // namespace rushgate::errors
