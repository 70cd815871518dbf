// Parses and formats numbers as Redis does: only the canonical decimal form is an integer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include <rushgate/maybe_integer.h>  // parse_int64()

namespace rushgate {

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

/// Removes the zeros at the end of a number with a decimal point, and a point without digits.
void remove_trailing_zeros(std::string& text);

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

  /// Changes the text of a number that is not negative to that of the next number, if only the last
  /// digit changes. Returns false if others would.
  bool increment() {
    char& last = buffer_[sizeof(buffer_) - 1];
    if (last == '9') return false;
    ++last;
    return true;
  }

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
