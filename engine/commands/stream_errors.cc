#include "engine/commands/stream_errors.h"

#include <algorithm>
#include <utility>

namespace rushgate::errors {
namespace {

constexpr std::size_t kQuotedBytes = 128;

std::string quoted(std::string_view argument) {
  return '\'' + std::string(as_c_string(argument)) + '\'';
}

/// An error is one line of the protocol, whatever it quotes.
Reply one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\r', ' ');
  std::replace(text.begin(), text.end(), '\n', ' ');
  return Reply::error(std::move(text));
}

}  // namespace

Reply unknown_claim_option(std::string_view option) {
  return one_line("ERR Unrecognized XCLAIM option " + quoted(option));
}

Reply subcommand_syntax(std::string_view command, std::string_view subcommand) {
  return one_line("ERR unknown subcommand or wrong number of arguments for " +
                  quoted(as_c_string(subcommand).substr(0, kQuotedBytes)) + ". Try " +
                  std::string(command) + " HELP.");
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
