// Error messages of DEBUG, word for word as in Redis 7.0 unless marked as ours.
#pragma once

#include <rushgate/reply.h>

namespace rushgate::errors {

inline Reply debug_refused() {
  return Reply::error(
      "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you "
      "can run it from a local connection, otherwise you need to set this option in the "
      "configuration file, and then restart the server.");
}
inline Reply sleeps_too_long() {  // ours
  return Reply::error("ERR DEBUG SLEEP takes at most 60 seconds");
}
inline Reply invalid_packed_threshold() {
  return Reply::error("ERR argument must be a memory value bigger than 1 and smaller than 4gb");
}
inline Reply reload_option() {
  return Reply::error("ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.");
}
inline Reply no_listpack() { return Reply::error("ERR Not a listpack encoded object."); }
inline Reply no_quicklist() { return Reply::error("ERR Not a quicklist encoded object."); }
inline Reply no_sds() { return Reply::error("ERR Not an sds encoded string."); }
inline Reply no_hash_table() {
  return Reply::error(
      "ERR The value stored at the specified key is not represented using an hash table");
}
inline Reply database_out_of_range() { return Reply::error("ERR Out of range database"); }
inline Reply populates_too_much() {  // ours
  return Reply::error("ERR DEBUG POPULATE takes at most 10000000 keys, and 1 GiB of values");
}
inline Reply unknown_protocol_type() {
  return Reply::error(
      "ERR Wrong protocol type name. Please use one of the following: "
      "string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false");
}
inline Reply needs_resp3() { return Reply::error("ERR RESP2 is not supported by this command"); }

}  // namespace rushgate::errors
