// All error messages of the stream commands, word for word as in Redis (7.0, and later ones for
// later options), except the one marked as ours.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "engine/redis/commands/errors.h"
#include <rushgate/reply.h>

namespace rushgate::errors {

// ---- Arguments ----
inline Reply invalid_stream_id() {
  return Reply::error("ERR Invalid stream ID specified as stream command argument");
}
inline Reply invalid_interval_start() {
  return Reply::error("ERR invalid start ID for the interval");
}
inline Reply invalid_interval_end() { return Reply::error("ERR invalid end ID for the interval"); }
inline Reply two_trim_strategies() {
  return Reply::error(
      "ERR syntax error, MAXLEN and MINID options at the same time are not compatible");
}
inline Reply limit_without_strategy() {
  return Reply::error(
      "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy");
}
inline Reply limit_without_approximation() {
  return Reply::error("ERR syntax error, LIMIT cannot be used without the special ~ option");
}
inline Reply no_trim_strategy() {
  return Reply::error("ERR syntax error, XTRIM must be called with a trimming strategy");
}
inline Reply negative_max_length() { return Reply::error("ERR The MAXLEN argument must be >= 0."); }
inline Reply negative_limit() { return Reply::error("ERR The LIMIT argument must be >= 0."); }
inline Reply timeout_not_an_integer() {
  return Reply::error("ERR timeout is not an integer or out of range");
}
inline Reply block_in_script(std::string_view command) {
  return Reply::error("ERR " + std::string(command) +
                      " command is not allowed with BLOCK option from scripts");
}
inline Reply unbalanced_streams() {
  return Reply::error(
      "ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified.");
}
inline Reply group_in_xread() {
  return Reply::error(
      "ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead.");
}
inline Reply noack_in_xread() {
  return Reply::error(
      "ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead.");
}
inline Reply claim_in_xread() {
  return Reply::error(
      "ERR The CLAIM option is only supported by XREADGROUP. You called XREAD instead.");
}
inline Reply claim_idle_not_an_integer() {
  return Reply::error("ERR min-idle-time is not an integer or out of range");
}
inline Reply negative_claim_idle() {
  return Reply::error("ERR min-idle-time must be a positive integer");
}
inline Reply ids_not_positive() {
  return Reply::error("ERR Number of IDs must be a positive integer");
}
inline Reply ids_miscounted() {
  return Reply::error("ERR The `numids` parameter must match the number of arguments");
}
inline Reply group_missing() { return Reply::error("ERR Missing GROUP option for XREADGROUP"); }
inline Reply last_id_in_xreadgroup() {
  return Reply::error(
      "ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of "
      "this consumer by specifying a proper ID, or use the > ID to get new messages. The $ ID "
      "would just return an empty result set.");
}
inline Reply new_id_in_xread() {
  return Reply::error(
      "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> "
      "<consumer> option.");
}
inline Reply negative_entries_read() {
  return Reply::error("ERR value for ENTRIESREAD must be positive or -1");
}
inline Reply invalid_min_idle(std::string_view command) {
  return Reply::error("ERR Invalid min-idle-time argument for " + std::string(command));
}
inline Reply invalid_claim_option(std::string_view option) {
  return Reply::error("ERR Invalid " + std::string(option) + " option argument for XCLAIM");
}
Reply unknown_claim_option(std::string_view option);

inline Reply negative_entries_added() { return Reply::error("ERR entries_added must be positive"); }
inline Reply last_id_below_given_deleted() {
  return Reply::error(
      "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id");
}

// ---- State ----
inline Reply last_id_below_top() {
  return Reply::error("ERR The ID specified in XSETID is smaller than the target stream top item");
}
inline Reply entries_added_below_length() {
  return Reply::error(
      "ERR The entries_added specified in XSETID is smaller than the target stream length");
}
inline Reply id_not_above_last() {
  return Reply::error(
      "ERR The ID specified in XADD is equal or smaller than the target stream top item");
}
inline Reply id_is_zero() {
  return Reply::error("ERR The ID specified in XADD must be greater than 0-0");
}
inline Reply ids_exhausted() { return Reply::error(script_errors::kIdsExhausted); }
inline Reply entry_too_large() { return Reply::error("ERR Elements are too large to be stored"); }
inline Reply group_exists() { return Reply::error("BUSYGROUP Consumer Group name already exists"); }
inline Reply key_required_by_xgroup() {
  return Reply::error(
      "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to "
      "use the MKSTREAM option to create an empty stream automatically.");
}
Reply no_such_group(std::string_view key, std::string_view group);
Reply no_such_key_or_group(std::string_view key, std::string_view group);
Reply no_such_key_or_group_to_read(std::string_view key, std::string_view group);

// ---- Of a reader that was waiting ----
inline Reply group_gone_while_blocked() {
  return Reply::error("NOGROUP the consumer group this client was blocked on no longer exists");
}
inline Reply key_gone_while_blocked() {
  return Reply::error("UNBLOCKED the stream key no longer exists");
}

// ---- Not Redis's: it cannot fail to read ----
inline Reply store_failed(const absl::Status& status) {
  return Reply::error(script_errors::store_failed(status));
}

}  // namespace rushgate::errors
