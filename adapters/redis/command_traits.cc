#include "adapters/redis/command_traits.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "adapters/redis/text.h"
#include "engine/base/numbers.h"

namespace rushgate {
namespace {

struct UseRow {
  std::string_view command;
  std::string_view subcommand;  // empty: any
  ConnectionUse use;
};

// The first matching row counts.
constexpr std::array kUses = {
    UseRow{"SELECT", "", ConnectionUse::kChangesState},
    UseRow{"MULTI", "", ConnectionUse::kBeginsTransaction},
    UseRow{"EXEC", "", ConnectionUse::kEndsTransaction},
    UseRow{"DISCARD", "", ConnectionUse::kEndsTransaction},
    UseRow{"WATCH", "", ConnectionUse::kWatches},
    UseRow{"UNWATCH", "", ConnectionUse::kUnwatches},
    UseRow{"AUTH", "", ConnectionUse::kChangesState},
    UseRow{"RESET", "", ConnectionUse::kChangesState},
    UseRow{"QUIT", "", ConnectionUse::kChangesState},
    UseRow{"ASKING", "", ConnectionUse::kChangesState},
    UseRow{"READONLY", "", ConnectionUse::kChangesState},
    UseRow{"READWRITE", "", ConnectionUse::kChangesState},
    UseRow{"CLIENT", "REPLY", ConnectionUse::kUnsupported},
    UseRow{"CLIENT", "LIST", ConnectionUse::kOrdinary},
    UseRow{"CLIENT", "KILL", ConnectionUse::kOrdinary},
    UseRow{"CLIENT", "PAUSE", ConnectionUse::kOrdinary},
    UseRow{"CLIENT", "UNPAUSE", ConnectionUse::kOrdinary},
    UseRow{"CLIENT", "UNBLOCK", ConnectionUse::kOrdinary},
    UseRow{"CLIENT", "", ConnectionUse::kChangesState},
    UseRow{"SCRIPT", "DEBUG", ConnectionUse::kUnsupported},
    UseRow{"HELLO", "", ConnectionUse::kUnsupported},
    UseRow{"MONITOR", "", ConnectionUse::kUnsupported},
    UseRow{"SYNC", "", ConnectionUse::kUnsupported},
    UseRow{"PSYNC", "", ConnectionUse::kUnsupported},
    UseRow{"REPLCONF", "", ConnectionUse::kUnsupported},
    UseRow{"SUBSCRIBE", "", ConnectionUse::kSubscribes},
    UseRow{"PSUBSCRIBE", "", ConnectionUse::kSubscribes},
    UseRow{"SSUBSCRIBE", "", ConnectionUse::kSubscribes},
    UseRow{"UNSUBSCRIBE", "", ConnectionUse::kSubscribes},
    UseRow{"PUNSUBSCRIBE", "", ConnectionUse::kSubscribes},
    UseRow{"SUNSUBSCRIBE", "", ConnectionUse::kSubscribes},
    UseRow{"XREAD", "", ConnectionUse::kMayBlock},
    UseRow{"XREADGROUP", "", ConnectionUse::kMayBlock},
    UseRow{"BLPOP", "", ConnectionUse::kMayBlock},
    UseRow{"BRPOP", "", ConnectionUse::kMayBlock},
    UseRow{"BLMOVE", "", ConnectionUse::kMayBlock},
    UseRow{"BRPOPLPUSH", "", ConnectionUse::kMayBlock},
    UseRow{"BZPOPMIN", "", ConnectionUse::kMayBlock},
    UseRow{"BZPOPMAX", "", ConnectionUse::kMayBlock},
    UseRow{"BLMPOP", "", ConnectionUse::kMayBlock},
    UseRow{"BZMPOP", "", ConnectionUse::kMayBlock},
    UseRow{"WAIT", "", ConnectionUse::kMayBlock},
    UseRow{"WAITAOF", "", ConnectionUse::kMayBlock},
};

/// Bit n is set if some row begins with the n-th letter. Most commands need no further check.
constexpr std::uint32_t kFirstLetters = [] {
  std::uint32_t letters = 0;
  for (const UseRow& row : kUses) letters |= 1U << (row.command.front() - 'A');
  return letters;
}();

enum class TimeoutAt { kFirstSeconds, kLastSeconds, kLastMs };

struct BlockRow {
  std::string_view command;
  TimeoutAt timeout;
};

constexpr std::array kBlockingCommands = {
    BlockRow{"BLPOP", TimeoutAt::kLastSeconds},    BlockRow{"BRPOP", TimeoutAt::kLastSeconds},
    BlockRow{"BLMOVE", TimeoutAt::kLastSeconds},   BlockRow{"BRPOPLPUSH", TimeoutAt::kLastSeconds},
    BlockRow{"BZPOPMIN", TimeoutAt::kLastSeconds}, BlockRow{"BZPOPMAX", TimeoutAt::kLastSeconds},
    BlockRow{"BLMPOP", TimeoutAt::kFirstSeconds},  BlockRow{"BZMPOP", TimeoutAt::kFirstSeconds},
    BlockRow{"WAIT", TimeoutAt::kLastMs},          BlockRow{"WAITAOF", TimeoutAt::kLastMs},
};

std::optional<std::int64_t> ms(std::string_view text) {
  const auto value = parse_int64(text);
  return value && *value >= 0 ? value : std::nullopt;
}

std::optional<std::int64_t> seconds_as_ms(std::string_view text) {
  constexpr long double kLongest = std::numeric_limits<std::int64_t>::max() / 1'000;  // Redis's
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

ConnectionUse connection_use(const Request& request) {
  const std::string_view name = request[0];
  const char first = name.empty() ? '\0' : static_cast<char>(name.front() & ~0x20);
  if (first < 'A' || first > 'Z' || (kFirstLetters >> (first - 'A') & 1U) == 0) {
    return ConnectionUse::kOrdinary;
  }
  const auto* const row = std::find_if(kUses.begin(), kUses.end(), [&](const UseRow& candidate) {
    if (!equals_ignore_case(name, candidate.command)) return false;
    return candidate.subcommand.empty() ||
           (request.size() > 1 && equals_ignore_case(request[1], candidate.subcommand));
  });
  return row == kUses.end() ? ConnectionUse::kOrdinary : row->use;
}

std::optional<std::int64_t> block_timeout_ms(const Request& request) {
  const std::string_view name = request[0];
  if (equals_ignore_case(name, "XREAD") || equals_ignore_case(name, "XREADGROUP")) {
    return stream_read_block_ms(request);
  }
  const auto* const row = std::find_if(
      kBlockingCommands.begin(), kBlockingCommands.end(),
      [&](const BlockRow& candidate) { return equals_ignore_case(name, candidate.command); });
  if (row == kBlockingCommands.end() || request.size() < 2) return std::nullopt;
  const std::string_view last = request[request.size() - 1];
  switch (row->timeout) {
    case TimeoutAt::kFirstSeconds:
      return seconds_as_ms(request[1]);
    case TimeoutAt::kLastSeconds:
      return seconds_as_ms(last);
    case TimeoutAt::kLastMs:
      return ms(last);
  }
  return std::nullopt;
}

}  // namespace rushgate
