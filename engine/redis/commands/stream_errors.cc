#include "engine/redis/commands/stream_errors.h"

namespace rushgate::errors {
namespace {

std::string quoted(std::string_view argument) {
  return '\'' + std::string(as_c_string(argument)) + '\'';
}

}  // namespace

Reply unknown_claim_option(std::string_view option) {
  return one_line("ERR Unrecognized XCLAIM option " + quoted(option));
}

Reply no_such_group(std::string_view key, std::string_view group) {
  return one_line("NOGROUP No such consumer group " + quoted(group) + " for key name " +
                  quoted(key));
}

Reply no_such_key_or_group(std::string_view key, std::string_view group) {
  return one_line("NOGROUP No such key " + quoted(key) + " or consumer group " + quoted(group));
}

Reply no_such_key_or_group_to_read(std::string_view key, std::string_view group) {
  return one_line("NOGROUP No such key " + quoted(key) + " or consumer group " + quoted(group) +
                  " in XREADGROUP with GROUP option");
}

}  // namespace rushgate::errors
