#include "adapters/redis/request_timeout.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "adapters/redis/text.h"
#include "engine/core/base/numbers.h"
#include "engine/core/client/command_traits.h"

namespace rushgate {
namespace {

std::optional<std::int64_t> ms(std::string_view text) {
  const auto value = parse_int64(text);
  return value && *value >= 0 ? value : std::nullopt;
}

std::optional<std::int64_t> seconds_as_ms(std::string_view text) {
  constexpr std::int64_t kLongest = std::numeric_limits<std::int64_t>::max() / 1'000;  // Redis's
  const auto value = parse_long_double(text);
  if (!value || *value < 0 || *value > kLongest) return std::nullopt;
  const auto rounded_up = static_cast<std::int64_t>(*value * 1000 + 0.999L);
  return rounded_up;
}

std::size_t words_of_option(std::string_view option) {
  if (equals_ignore_case(option, "GROUP")) return 3;
  const bool has_value = equals_ignore_case(option, "BLOCK") || equals_ignore_case(option, "COUNT");
  return has_value ? 2 : 1;
}

/// Parses XREAD [COUNT n] [BLOCK ms] STREAMS … and XREADGROUP GROUP group consumer [COUNT n] [BLOCK
/// ms] …
std::optional<std::int64_t> stream_read_block_ms(const Request& request) {
  std::optional<std::int64_t> block;
  std::size_t i = 1;
  while (i < request.size() && !equals_ignore_case(request[i], "STREAMS")) {
    if (equals_ignore_case(request[i], "BLOCK") && i + 1 < request.size())
      block = ms(request[i + 1]);
    i += words_of_option(request[i]);
  }
  return block;
}

}  // namespace

std::optional<std::int64_t> block_timeout_ms(const Request& request) {
  const BlockTimeout timeout = command_traits(request).timeout;
  if (request.size() < 2) return std::nullopt;
  switch (timeout) {
    case BlockTimeout::kFirstSeconds:
      return seconds_as_ms(request[1]);
    case BlockTimeout::kLastSeconds:
      return seconds_as_ms(request[request.size() - 1]);
    case BlockTimeout::kLastMs:
      return ms(request[request.size() - 1]);
    case BlockTimeout::kBlockOption:
      return stream_read_block_ms(request);
    case BlockTimeout::kNone:
      break;
  }
  return std::nullopt;
}

}  // namespace rushgate
