#include "engine/redis/commands/errors.h"

#include <algorithm>
#include <utility>

namespace rushgate::errors {
namespace {

constexpr std::size_t kQuotedBytes =
    128;  // of an unknown name, and of its quoted arguments together

std::string quoted(std::string_view argument, std::size_t bytes_max) {
  return '\'' + std::string(as_c_string(argument).substr(0, bytes_max)) + '\'';
}

}  // namespace

Reply one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\r', ' ');
  std::replace(text.begin(), text.end(), '\n', ' ');
  return Reply::error(std::move(text));
}

Reply unknown_command(RequestView request) {
  std::string arguments;
  for (std::size_t i = 1; i < request.size() && arguments.size() < kQuotedBytes; ++i) {
    arguments += quoted(request[i], kQuotedBytes - arguments.size()) + ' ';
  }
  return one_line("ERR unknown command " + quoted(request[0], kQuotedBytes) +
                  ", with args beginning with: " + arguments);
}

Reply unknown_subcommand(std::string_view command, std::string_view subcommand) {
  return one_line("ERR unknown subcommand " + quoted(subcommand, kQuotedBytes) + ". Try " +
                  std::string(command) + " HELP.");
}

Reply unknown_subcommand_or_arity(std::string_view command, std::string_view subcommand) {
  return one_line("ERR unknown subcommand or wrong number of arguments for " +
                  quoted(subcommand, kQuotedBytes) + ". Try " + std::string(command) + " HELP.");
}

Reply hello_option(std::string_view option) {
  return one_line("ERR Syntax error in HELLO option '" + std::string(as_c_string(option)) + "'");
}

Reply transaction_aborted(const Reply& refusal) {
  constexpr std::string_view kPlainCode = "ERR ";  // scripts pass the others on
  std::string_view text = refusal.text();
  if (text.starts_with(kPlainCode)) text.remove_prefix(kPlainCode.size());
  return Reply::error("EXECABORT Transaction discarded because of: " + std::string(text));
}

Reply unsupported_option(std::string_view option) {
  std::string_view shown = as_c_string(option);
  while (shown.ends_with('\r') || shown.ends_with('\n')) shown.remove_suffix(1);  // as Redis does
  return one_line("ERR Unsupported option " + std::string(shown));
}

Reply unknown_setting(std::string_view name) {
  return one_line("ERR Unknown option or number of arguments for CONFIG SET - '" +
                  std::string(as_c_string(name)) + "'");
}

Reply setting_refused(std::string_view name, std::string_view reason) {
  return one_line("ERR CONFIG SET failed (possibly related to argument '" + std::string(name) +
                  "') - " + std::string(reason));
}

}  // namespace rushgate::errors
