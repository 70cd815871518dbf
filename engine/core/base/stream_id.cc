#include <cstddef>

#include "engine/core/base/numbers.h"
#include <rushgate/stream_id.h>

namespace rushgate {

std::string StreamId::to_string() const {
  std::string text(DecimalText::of_unsigned(ms).view());
  text += '-';
  text += DecimalText::of_unsigned(seq).view();
  return text;
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
