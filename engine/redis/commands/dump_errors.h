// The error messages of RESTORE, word for word as in Redis 7.0.
#pragma once

#include <rushgate/reply.h>

namespace rushgate::errors {

inline Reply invalid_idle_time() {
  return Reply::error("ERR Invalid IDLETIME value, must be >= 0");
}
inline Reply invalid_frequency() {
  return Reply::error("ERR Invalid FREQ value, must be >= 0 and <= 255");
}
inline Reply invalid_ttl() { return Reply::error("ERR Invalid TTL value, must be >= 0"); }
inline Reply key_exists() { return Reply::error("BUSYKEY Target key name already exists."); }
inline Reply wrong_payload() {
  return Reply::error("ERR DUMP payload version or checksum are wrong");
}
inline Reply bad_data_format() { return Reply::error("ERR Bad data format"); }

}  // namespace rushgate::errors
