// All error messages of the HyperLogLog commands, word for word as in Redis 7.0 unless marked as
// ours.
#pragma once

#include <string>
#include <string_view>

#include "engine/redis/commands/errors.h"
#include <rushgate/reply.h>

namespace rushgate::errors {

inline Reply not_a_hyperloglog() {
  return Reply::error("WRONGTYPE Key is not a valid HyperLogLog string value.");
}
inline Reply damaged_hyperloglog() {
  return Reply::error("INVALIDOBJ Corrupted HLL object detected");
}
inline Reply no_hyperloglog() { return Reply::error("ERR The specified key does not exist"); }
inline Reply not_sparse() { return Reply::error("ERR HLL encoding is not sparse"); }
inline Reply unknown_pfdebug_subcommand(std::string_view name) {
  return Reply::error("ERR Unknown PFDEBUG subcommand '" + std::string(as_c_string(name)) + "'");
}
inline Reply selftest_failed(std::string_view reason) {  // ours
  return Reply::error("TESTFAILED " + std::string(reason));
}

}  // namespace rushgate::errors
