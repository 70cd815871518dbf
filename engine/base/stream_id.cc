#include "engine/base/stream_id.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "engine/base/numbers.h"

namespace rushgate {
namespace {

constexpr std::size_t kDigitsMax = 20;

/// Writes the number; where it ends.
char* write(char* text, std::uint64_t number) {
  if (number > std::numeric_limits<std::int64_t>::max()) {
    return std::to_chars(text, text + kDigitsMax, number).ptr;
  }
  const DecimalText decimal(static_cast<std::int64_t>(number));
  return text + decimal.view().copy(text, kDigitsMax);
}

}  // namespace

std::string StreamId::to_string() const {
  char text[2 * kDigitsMax + 1];
  char* end = write(text, ms);
  *end++ = '-';
  end = write(end, seq);
  return {text, static_cast<std::size_t>(end - text)};
}

std::optional<StreamId> StreamId::parse(std::string_view text, std::uint64_t missing_seq) {
  constexpr std::size_t kLongestId =
      127;  // Redis reads an id into a buffer of this size, as a C string
  if (text.size() > kLongestId) return std::nullopt;
  text = text.substr(0, text.find('\0'));
  const auto dash = text.find('-');
  const auto ms = parse_uint64(text.substr(0, dash));
  if (!ms) return std::nullopt;
  if (dash == std::string_view::npos) return StreamId{*ms, missing_seq};
  const auto seq = parse_uint64(text.substr(dash + 1));
  if (!seq) return std::nullopt;
  return StreamId{*ms, *seq};
}

}  // namespace rushgate
