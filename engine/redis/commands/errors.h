// All error messages of commands, word for word as in Redis 7.0 unless marked as
// ours.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/redis/script/script_errors.h"
#include <rushgate/reply.h>
#include <rushgate/request.h>

namespace rushgate::errors {

// ---- Arguments ----
inline Reply syntax() { return Reply::error("ERR syntax error"); }
inline Reply count_not_positive() { return Reply::error("ERR COUNT must be > 0"); }
inline Reply not_an_integer() { return Reply::error(script_errors::kNotAnInteger); }
/// The error for an integer outside its bounds, in Redis's words.
inline Reply out_of_range(std::int64_t min, std::int64_t max) {
  return Reply::error("ERR value is out of range, value must between " + std::to_string(min) +
                      " and " + std::to_string(max));
}
/// The error for a count.
inline Reply not_positive() { return Reply::error("ERR value is out of range, must be positive"); }
/// `what` is the name of the count.
inline Reply not_above_zero(std::string_view what) {
  return Reply::error("ERR " + std::string(what) + " should be greater than 0");
}
inline Reply not_a_float() { return Reply::error("ERR value is not a valid float"); }
inline Reply wrong_type() { return Reply::error(script_errors::kWrongType); }
inline Reply wrong_arity(std::string_view command) {
  return Reply::error("ERR wrong number of arguments for '" + std::string(command) + "' command");
}
/// Replaces line breaks: an error is one line of the protocol.
Reply one_line(std::string text);

/// Returns the argument up to its first NUL. Redis compares keywords and quotes arguments as C
/// strings.
inline std::string_view as_c_string(std::string_view argument) {
  return argument.substr(0, argument.find('\0'));
}
/// Ours.
inline Reply reply_too_large() {
  return Reply::error("ERR the reply takes more memory than the client may leave unread");
}
inline Reply out_of_memory() { return Reply::error(script_errors::kMaxMemory); }
Reply unknown_command(RequestView request);
Reply unknown_subcommand(std::string_view command, std::string_view subcommand);

// ---- Connection ----
inline Reply not_authenticated() { return Reply::error("NOAUTH Authentication required."); }
inline Reply hello_not_authenticated() {
  return Reply::error(
      "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH "
      "<user> <pass> option can be used to authenticate the client and select the RESP protocol "
      "version at the same time");
}
inline Reply wrong_password() {
  return Reply::error("WRONGPASS invalid username-password pair or user is disabled.");
}
inline Reply no_password_asked() {
  return Reply::error(
      "ERR AUTH <password> called without any password configured for the default user. Are you "
      "sure your configuration is correct?");
}
inline Reply protocol_version_not_an_integer() {
  return Reply::error("ERR Protocol version is not an integer or out of range");
}
inline Reply no_such_protocol() { return Reply::error("NOPROTO unsupported protocol version"); }
Reply hello_option(std::string_view option);
inline Reply invalid_client_name() {
  return Reply::error("ERR Client names cannot contain spaces, newlines or special characters.");
}
inline Reply unrecognized_option(std::string_view option) {
  return Reply::error("ERR Unrecognized option '" + std::string(as_c_string(option)) + "'");
}
/// `option` is in lower case.
inline Reply invalid_client_info(std::string_view option) {
  return Reply::error("ERR " + std::string(option) +
                      " cannot contain spaces, newlines or special characters.");
}
inline Reply no_such_database() { return Reply::error("ERR DB index is out of range"); }

inline Reply unknown_client_type(std::string_view type) {
  return Reply::error("ERR Unknown client type '" + std::string(as_c_string(type)) + "'");
}
inline Reply invalid_client_id() { return Reply::error("ERR Invalid client ID"); }
inline Reply no_such_client() { return Reply::error("ERR No such client"); }
inline Reply no_such_user(std::string_view user) {
  return Reply::error("ERR No such user '" + std::string(as_c_string(user)) + "'");
}
inline Reply unblock_reason() {
  return Reply::error("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
}

// ---- Publish and subscribe ----
inline Reply only_subscriptions(std::string_view command) {
  return Reply::error("ERR Can't execute '" + std::string(command) +
                      "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed "
                      "in this context");
}
inline Reply takes_no_messages() {  // ours
  return Reply::error("ERR this client takes no messages: ClientOptions::on_message is not set");
}
inline Reply one_reply_wanted() {
  return Reply::error("ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client");
}
Reply unknown_subcommand_or_arity(std::string_view command, std::string_view subcommand);

// ---- Transactions ----
inline Reply nested_multi() { return Reply::error("ERR MULTI calls can not be nested"); }
inline Reply without_multi(std::string_view command) {
  return Reply::error("ERR " + std::string(command) + " without MULTI");
}
inline Reply watch_inside_multi() { return Reply::error("ERR WATCH inside MULTI is not allowed"); }
inline Reply transaction_broken() {
  return Reply::error("EXECABORT Transaction discarded because of previous errors.");
}
inline Reply not_in_transaction() {
  return Reply::error("ERR Command not allowed inside a transaction");
}
/// The error of EXEC itself.
Reply transaction_aborted(const Reply& refusal);

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
/// The reply after CLIENT UNBLOCK … ERROR.
inline Reply unblocked_by_client() {
  return Reply::error("UNBLOCKED client unblocked via CLIENT UNBLOCK");
}

// ---- Values ----
inline Reply no_such_key() { return Reply::error("ERR no such key"); }
inline Reply overflow() { return Reply::error(script_errors::kOverflow); }
inline Reply decrement_overflow() { return Reply::error("ERR decrement would overflow"); }
inline Reply hash_value_not_an_integer() {
  return Reply::error(script_errors::kHashValueNotAnInteger);
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
inline Reply hash_value_not_a_float() { return Reply::error("ERR hash value is not a float"); }
inline Reply increment_not_finite() { return Reply::error("ERR value is NaN or Infinity"); }
inline Reply value_out_of_range() { return Reply::error("ERR value is out of range"); }
inline Reply too_many_keys_counted() { return script_errors::too_many_keys(); }
inline Reply not_a_digest() {
  return Reply::error("ERR must be exactly 16 hexadecimal characters");
}
inline Reply condition_needs_string() {
  return Reply::error("ERR Key should be of string type if conditions are specified");
}
inline Reply invalid_condition() {
  return Reply::error("ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE");
}
inline Reply too_few_pairs() { return Reply::error("ERR wrong number of key-value pairs"); }
inline Reply invalid_numkeys() { return Reply::error("ERR invalid numkeys value"); }
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
inline Reply lcs_too_large() {
  return Reply::error(
      "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len");
}
inline Reply lcs_no_memory() {
  return Reply::error("ERR Insufficient memory, failed allocating transient memory for LCS");
}

// ---- Keys ----
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

// ---- COMMAND GETKEYS ----
inline Reply invalid_command() { return Reply::error("ERR Invalid command specified"); }
inline Reply no_key_arguments() { return Reply::error("ERR The command has no key arguments"); }
inline Reply invalid_number_of_arguments() {
  return Reply::error("ERR Invalid number of arguments specified for command");
}
inline Reply invalid_arguments() {
  return Reply::error("ERR Invalid arguments specified for command");
}

// ---- Settings ----
Reply unknown_setting(std::string_view name);
Reply setting_refused(std::string_view name, std::string_view reason);
inline Reply no_configuration_file() {
  return Reply::error("ERR The server is running without a config file");
}

// ---- SHUTDOWN ----
inline Reply no_shutdown() { return Reply::error("ERR No shutdown in progress."); }
inline Reply shutdown_failed() {
  return Reply::error("ERR Errors trying to SHUTDOWN. Check logs.");
}
inline Reply no_server() {  // ours
  return Reply::error("ERR there is no server to shut down: the engine belongs to its program");
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
