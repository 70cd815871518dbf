// A byte string with its integer value, if it is an integer.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>

namespace rushgate {

/// Parses eight decimal digits; empty if a character is not a digit. Works on all eight at once:
/// the digits' values in eight bytes, then sums of neighbours in three steps.
inline std::optional<std::uint32_t> parse_eight_digits(const char* digits) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, digits, sizeof(bytes));
  constexpr std::uint64_t kZeros = 0x3030'3030'3030'3030;
  constexpr std::uint64_t kHighHalves = 0xF0F0'F0F0'F0F0'F0F0;
  constexpr std::uint64_t kSixes = 0x0606'0606'0606'0606;  // carry ':' and above into the high half
  const bool all_digits =
      (bytes & kHighHalves) == kZeros && ((bytes + kSixes) & kHighHalves) == kZeros;
  if (!all_digits) return std::nullopt;
  bytes -= kZeros;
  bytes = bytes * 10 + (bytes >> 8);
  bytes = ((bytes & 0x0000'00FF'0000'00FF) * 0x000F'4240'0000'0064 +
           (bytes >> 16 & 0x0000'00FF'0000'00FF) * 0x0000'2710'0000'0001) >>
          32;
  return static_cast<std::uint32_t>(bytes);
}

/// As parse_int64(), for strings above its fast path's length.
std::optional<std::int64_t> parse_long_int64(std::string_view text);

/// Parses a signed integer in canonical decimal form: no '+', no leading zero, no spaces, no "-0".
/// (Redis's string2ll.)
inline std::optional<std::int64_t> parse_int64(std::string_view text) {
  // The fast path: up to eighteen characters cannot overflow.
  constexpr std::size_t kShort = 18;
  if (text.size() > kShort) return parse_long_int64(text);
  const char* at = text.data();
  const char* const end = at + text.size();
  const bool is_negative = at != end && *at == '-';
  if (is_negative) ++at;
  if (at == end || (*at == '0' && text.size() > 1)) return std::nullopt;
  std::int64_t value = 0;
  constexpr std::ptrdiff_t kBlock = 8;
  for (; end - at >= kBlock; at += kBlock) {
    const auto block = parse_eight_digits(at);
    if (!block) return std::nullopt;
    value = value * 100'000'000 + *block;
  }
  for (; at != end; ++at) {
    const unsigned digit = static_cast<unsigned char>(*at) - unsigned{'0'};
    if (digit > 9) return std::nullopt;
    value = value * 10 + digit;
  }
  return is_negative ? -value : value;
}

/// A view; the string must outlive it. Parses the string once, so later code need not parse it
/// again. Converts implicitly from strings.
class MaybeInteger {
 public:
  template <class Text>
  requires std::is_convertible_v<const Text&, std::string_view> MaybeInteger(const Text& text)
      : MaybeInteger(std::string_view(text)) {}        // NOLINT(google-explicit-constructor)
  MaybeInteger(std::string_view text) : text_(text) {  // NOLINT(google-explicit-constructor)
    const std::optional<std::int64_t> integer = parse_int64(text);
    is_integer_ = integer.has_value();
    integer_ = integer.value_or(0);
  }

  MaybeInteger() = default;

  [[nodiscard]] std::string_view text() const { return text_; }
  /// Returns true if the string is an integer in canonical decimal form.
  [[nodiscard]] bool is_integer() const { return is_integer_; }
  /// Returns the integer; 0 if the string is not one.
  [[nodiscard]] std::int64_t integer() const { return integer_; }

 private:
  std::string_view text_;
  std::int64_t integer_ = 0;
  bool is_integer_ = false;
};

}  // namespace rushgate
