// All error messages of the bitmap commands, word for word as in Redis 7.0.
#pragma once

#include "engine/redis/commands/errors.h"
#include <rushgate/reply.h>

namespace rushgate::errors {

inline Reply invalid_bit_offset() {
  return Reply::error("ERR bit offset is not an integer or out of range");
}
/// The error of SETBIT.
inline Reply invalid_bit() { return Reply::error("ERR bit is not an integer or out of range"); }
/// The error of BITPOS.
inline Reply not_a_bit() { return Reply::error("ERR The bit argument must be 1 or 0."); }
inline Reply not_takes_one_key() {
  return Reply::error("ERR BITOP NOT must be called with a single source key.");
}

// ---- BITFIELD ----
inline Reply invalid_bitfield_type() {
  return Reply::error(
      "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but "
      "i64 is.");
}
inline Reply invalid_overflow() { return Reply::error("ERR Invalid OVERFLOW type specified"); }
inline Reply bitfield_reads_only() {
  return Reply::error("ERR BITFIELD_RO only supports the GET subcommand");
}

}  // namespace rushgate::errors
