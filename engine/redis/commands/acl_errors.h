// All error messages of ACL, word for word as in Redis 7.0 unless marked as ours.
#pragma once

#include <string>
#include <string_view>

#include "engine/core/base/concat.h"
#include "engine/redis/commands/errors.h"
#include <rushgate/reply.h>

namespace rushgate::errors {

inline Reply unknown_category(std::string_view category) {
  return one_line(concat("ERR Unknown category '", as_c_string(category), "'"));
}
inline Reply invalid_password_bits() {
  return Reply::error(
      "ERR ACL GENPASS argument must be the number of bits for the output password, a positive "
      "number up to 4096");
}
inline Reply user_not_found(std::string_view user) {
  return one_line(concat("ERR User '", as_c_string(user), "' not found"));
}
inline Reply command_not_found(std::string_view command) {
  return one_line(concat("ERR Command '", as_c_string(command), "' not found"));
}
inline Reply no_acl_file() {
  return Reply::error(
      "ERR This Redis instance is not configured to use an ACL file. You may want to specify users "
      "via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis "
      "configuration file set) in order to store users in the Redis configuration.");
}
inline Reply default_user_stays() {
  return Reply::error("ERR The 'default' user cannot be removed");
}
inline Reply invalid_user_name() {
  return Reply::error("ERR Usernames can't contain spaces or null characters");
}
/// Ours.
inline Reply one_user_only() {
  return Reply::error("ERR there is one user only, 'default', and no other can be created");
}
inline Reply rule_refused(std::string_view rule, std::string_view reason) {
  return one_line(concat("ERR Error in ACL SETUSER modifier '", as_c_string(rule), "': ", reason));
}

}  // namespace rushgate::errors
