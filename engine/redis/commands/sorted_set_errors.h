// All error messages of the sorted set commands, word for word as in Redis 7.0.
#pragma once

#include <string>
#include <string_view>

#include "engine/redis/commands/errors.h"
#include <rushgate/reply.h>

namespace rushgate::errors {

// ---- ZADD ----
inline Reply xx_excludes_nx() {
  return Reply::error("ERR XX and NX options at the same time are not compatible");
}
inline Reply gt_lt_nx_exclude() {
  return Reply::error("ERR GT, LT, and/or NX options at the same time are not compatible");
}
inline Reply incr_takes_one_pair() {
  return Reply::error("ERR INCR option supports a single increment-element pair");
}
inline Reply score_not_a_number() {
  return Reply::error("ERR resulting score is not a number (NaN)");
}

// ---- Ranges ----
inline Reply bound_not_a_float() { return Reply::error("ERR min or max is not a float"); }
inline Reply invalid_lex_bound() {
  return Reply::error("ERR min or max not valid string range item");
}
inline Reply limit_without_bounds() {
  return Reply::error(
      "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX");
}
inline Reply scores_by_lex() {
  return Reply::error("ERR syntax error, WITHSCORES not supported in combination with BYLEX");
}

// ---- Counts and keys ----
inline Reply no_input_key(std::string_view command) {
  return Reply::error("ERR at least 1 input key is needed for '" + std::string(command) +
                      "' command");
}
inline Reply weight_not_a_float() { return Reply::error("ERR weight value is not a float"); }

}  // namespace rushgate::errors
