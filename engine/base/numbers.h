// Numbers as Redis reads and writes them: only the canonical decimal form is a number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rushgate {

/// A signed integer in canonical decimal form: no sign but '-', no leading zero, no spaces, "-0" is
/// not one. (Redis's string2ll.)
std::optional<std::int64_t> parse_int64(std::string_view text);

/// An unsigned integer, for stream ids. What is not in canonical form is read as strtoull reads it,
/// to the end or a NUL: with leading spaces, zeros, a '+', or a '-' that wraps around. (Redis's
/// string2ull.)
std::optional<std::uint64_t> parse_uint64(std::string_view text);

/// A finite or infinite double as strtold reads it, the whole text, no leading space, no NaN.
/// (Redis's getLongDoubleFromObject.)
std::optional<long double> parse_long_double(std::string_view text);

/// The sum, if it does not overflow.
std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b);

/// The decimal form of `value` in a caller's buffer: an integer argument costs no allocation.
class DecimalText {
 public:
  explicit DecimalText(std::int64_t value);
  [[nodiscard]] std::string_view view() const {
    return {begin_, static_cast<std::size_t>(end_ - begin_)};
  }
  operator std::string_view() const {
    return view();
  }  // NOLINT(google-explicit-constructor): it is one

  DecimalText(const DecimalText&) = delete;
  DecimalText& operator=(const DecimalText&) = delete;

 private:
  char buffer_[24];
  char* begin_;
  char* end_;
};

}  // namespace rushgate
