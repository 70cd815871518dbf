// Parses and formats numbers as Redis does: only the canonical decimal form is an integer.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

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

/// Parses an unsigned integer of a stream id. A string in another form than the canonical one is
/// read by parse_wrapping_uint64(). (Redis's string2ull.)
std::optional<std::uint64_t> parse_uint64(std::string_view text);

/// Parses as strtoull does, up to the end or a NUL. Leading spaces and zeros, '+' and a '-' that
/// wraps around are allowed.
std::optional<std::uint64_t> parse_wrapping_uint64(std::string_view text);

/// Parses a finite or infinite number as strtold does. The whole string must be the number: no
/// leading space, no NaN. (Redis's getLongDoubleFromObject.)
std::optional<long double> parse_long_double(std::string_view text);

/// Parses a finite or infinite number in any form of strtod. The whole string must be the number:
/// no leading space, no NaN, no overflow. (Redis's string2d.)
std::optional<double> parse_double(std::string_view text);

/// Parses as strtod does, up to the end or a NUL. Leading spaces are allowed, an empty string is 0,
/// and a value that is too large is infinite. For the bounds of scores, as in Redis.
std::optional<double> parse_double_bound(std::string_view text);

/// Formats a finite number as INCRBYFLOAT and HINCRBYFLOAT do: no exponent, 17 digits after the
/// point, no trailing zeros. (Redis's LD_STR_HUMAN.)
std::string format_long_double(long double value);

/// Returns a + b; empty if the sum overflows.
std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b);

/// Formats an integer in decimal into a buffer of its own, without an allocation.
class DecimalText {
 public:
  explicit DecimalText(std::int64_t value)
      : DecimalText(
            value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value),
            value < 0) {}
  static DecimalText of_unsigned(std::uint64_t value) { return {value, false}; }
  [[nodiscard]] std::string_view view() const {
    return {begin_, static_cast<std::size_t>(std::end(buffer_) - begin_)};
  }
  operator std::string_view() const {
    return view();
  }  // NOLINT(google-explicit-constructor): it is one

  DecimalText(const DecimalText&) = delete;
  DecimalText& operator=(const DecimalText&) = delete;

 private:
  DecimalText(std::uint64_t magnitude, bool is_negative);

  char buffer_[20];  // filled from the end: "-9223372036854775808"
  char* begin_ = std::end(buffer_);
};

/// Formats a double as Redis 7.0 does: up to 17 significant digits ("%.17g"), "inf", "-inf", "nan",
/// "-nan".
class DoubleText {
 public:
  explicit DoubleText(double value);
  [[nodiscard]] std::string_view view() const { return {buffer_, size_}; }

 private:
  char buffer_[32];  // "-2.2250738585072014e-308"
  std::size_t size_;
};

}  // namespace rushgate
