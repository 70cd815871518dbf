#include "engine/redis/commands/slowlog_entries.h"

#include <utility>

#include "engine/core/base/concat.h"
#include "engine/redis/commands/secret_arguments.h"

namespace rushgate {
namespace {

constexpr std::size_t kArgumentsMax = 32;
constexpr std::size_t kArgumentBytesMax = 128;

std::string shown_argument(RequestView request, std::size_t position) {
  if (is_secret(request, position)) return std::string(kRedacted);
  const std::string_view argument = request[position];
  if (argument.size() <= kArgumentBytesMax) return std::string(argument);
  return concat(argument.substr(0, kArgumentBytesMax), "... (", argument.size() - kArgumentBytesMax,
                " more bytes)");
}

}  // namespace

std::vector<std::string> Slowlog::shown(RequestView request) {
  const bool is_long = request.size() > kArgumentsMax;
  const std::size_t whole = is_long ? kArgumentsMax - 1 : request.size();
  std::vector<std::string> arguments;
  arguments.reserve(is_long ? kArgumentsMax : whole);
  for (std::size_t i = 0; i < whole; ++i) arguments.push_back(shown_argument(request, i));
  if (is_long) arguments.push_back(concat("... (", request.size() - whole, " more arguments)"));
  return arguments;
}

void Slowlog::add(SlowlogEntry entry) {
  entry.id = next_id_;
  entries_.push_front(std::move(entry));
  ++next_id_;
}

void Slowlog::trim(std::size_t count_max) {
  while (entries_.size() > count_max) entries_.pop_back();
}

}  // namespace rushgate
