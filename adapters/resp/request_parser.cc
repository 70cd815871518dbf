#include "adapters/resp/request_parser.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "engine/core/base/numbers.h"
#include "engine/core/client/quoted_words.h"

namespace rushgate {
namespace {

constexpr std::size_t kLineEndBytes = 2;

/// Returns the line at the beginning of `input`, without its end; empty if the end is missing. A
/// line ends with CR and one more byte, which is not checked. Redis searches a C string, so a line
/// with a zero byte has no end.
std::optional<std::string_view> find_line(std::string_view input) {
  const std::size_t end = input.find_first_of(std::string_view("\r\0", 2));
  if (end == std::string_view::npos || end + kLineEndBytes > input.size()) return std::nullopt;
  if (input[end] == '\0') return std::nullopt;
  return input.substr(0, end);
}

void pass_line(std::string_view& input, std::string_view line) {
  input.remove_prefix(line.size() + kLineEndBytes);
}

}  // namespace

RequestParser::Result RequestParser::next(std::string_view& input, const Limits& limits,
                                          Request& request) {
  if (arguments_left_ > 0) return next_array(input, limits, request);
  while (!input.empty()) {
    if (input.front() != '*') {
      const Result result = next_inline(input, request);
      if (result != Result::kRequest || !request.empty()) return result;
      continue;
    }
    const Result result = read_array_length(input, limits);
    if (result != Result::kRequest) return result;
    if (arguments_left_ > 0) return next_array(input, limits, request);
  }
  return Result::kIncomplete;
}

RequestParser::Result RequestParser::next_inline(std::string_view& input, Request& request) {
  // Redis searches it as a C string.
  const std::size_t end = input.find_first_of(std::string_view("\n\0", 2));
  if (end == std::string_view::npos || input[end] == '\0') {
    return input.size() > kLineBytesMax ? broken("too big inline request") : Result::kIncomplete;
  }
  std::string_view line = input.substr(0, end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  request.clear();
  if (!split_quoted(line, request)) return broken("unbalanced quotes in request");
  input.remove_prefix(end + 1);
  return Result::kRequest;
}

/// Returns kRequest if the length was read. If it is not 0, a request begins.
RequestParser::Result RequestParser::read_array_length(std::string_view& input,
                                                       const Limits& limits) {
  constexpr std::int64_t kMax = std::numeric_limits<int>::max();
  const auto line = find_line(input);
  if (!line) {
    return input.size() > kLineBytesMax ? broken("too big mbulk count string")
                                        : Result::kIncomplete;
  }
  const auto length = parse_int64(line->substr(1));
  if (!length || *length > kMax) return broken("invalid multibulk length");
  if (*length > limits.arguments_max) return broken("unauthenticated multibulk length");
  pass_line(input, *line);
  arguments_left_ = std::max<std::int64_t>(*length, 0);
  argument_bytes_left_ = -1;
  return Result::kRequest;
}

RequestParser::Result RequestParser::read_argument_length(std::string_view& input,
                                                          const Limits& limits) {
  const auto line = find_line(input);
  if (!line) {
    return input.size() > kLineBytesMax ? broken("too big bulk count string") : Result::kIncomplete;
  }
  if (!input.starts_with('$')) {
    return broken(std::string("expected '$', got '") + input.front() + "'");
  }
  const auto length = parse_int64(line->substr(1));
  if (!length || *length < 0 || *length > kArgumentBytesMax) return broken("invalid bulk length");
  if (*length > limits.argument_bytes_max) {
    return broken(limits.is_authenticated ? "invalid bulk length" : "unauthenticated bulk length");
  }
  pass_line(input, *line);
  argument_bytes_left_ = *length;
  return Result::kRequest;
}

RequestParser::Result RequestParser::next_array(std::string_view& input, const Limits& limits,
                                                Request& request) {
  while (arguments_left_ > 0) {
    if (argument_bytes_left_ < 0) {
      const Result result = read_argument_length(input, limits);
      if (result != Result::kRequest) return result;
    }
    const auto bytes = static_cast<std::size_t>(argument_bytes_left_);
    if (input.size() < bytes + kLineEndBytes) {
      const std::string_view part = input.substr(0, bytes);
      partial_.add_part(part);
      argument_bytes_left_ -= static_cast<std::int64_t>(part.size());
      input.remove_prefix(part.size());
      return Result::kIncomplete;
    }
    partial_.add(input.substr(0, bytes));
    input.remove_prefix(bytes + kLineEndBytes);
    argument_bytes_left_ = -1;
    --arguments_left_;
  }
  std::swap(request, partial_);
  partial_.clear();
  return Result::kRequest;
}

RequestParser::Result RequestParser::broken(std::string_view what) {
  error_ = "ERR Protocol error: " + std::string(what);
  return Result::kBroken;
}

}  // namespace rushgate
